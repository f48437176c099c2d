"""The schema: fresh equals migrated, and the file itself refuses rows that cannot be."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.stores import sqlite_schema
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.sqlite_schema import (
    APPLICATION_ID,
    is_current,
    migrate,
    migrations,
    version,
)
from tests.support.stores import claim_one, insert


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "queuelog.db", isolation_level=None)
    yield connection
    connection.close()


def migrate_whole(connection: sqlite3.Connection) -> None:
    """As the store does it: in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrate(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def test_a_migrated_file_knows_its_version_and_its_application(
    connection: sqlite3.Connection,
) -> None:
    migrate_whole(connection)

    assert connection.execute("PRAGMA user_version").fetchone() == (len(migrations()),)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_a_file_of_this_version_is_opened_without_a_write(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "queuelog.db").close()
    before = (tmp_path / "queuelog.db").read_bytes()

    SqliteStore(tmp_path / "queuelog.db").close()

    assert (tmp_path / "queuelog.db").read_bytes() == before


def test_what_a_file_is_is_read_in_one_statement(connection: sqlite3.Connection) -> None:
    """In several, a half-made schema of a start beside this one looks like a foreign file."""
    sent: list[str] = []
    connection.set_trace_callback(sent.append)

    assert version(connection) == 0

    connection.set_trace_callback(None)
    assert len([text for text in sent if not text.startswith("--")]) == 1


def test_only_a_file_of_this_version_is_current(connection: sqlite3.Connection) -> None:
    assert not is_current(connection)

    migrate_whole(connection)

    assert is_current(connection)


def schema(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_a_file_migrated_step_by_step_equals_a_fresh_one(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = (*migrations(), ("CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT",))
    for known in range(1, len(everything) + 1):
        monkeypatch.setattr(sqlite_schema, "migrations", lambda known=known: everything[:known])
        migrate_whole(connection)
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    migrate_whole(fresh)

    assert schema(connection) == schema(fresh)
    fresh.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate_whole(connection)
    before = schema(connection)
    broken = (*migrations(), ("CREATE TABLE later (id)", "CREATE TABLE jobs (id)"))
    monkeypatch.setattr(sqlite_schema, "migrations", lambda: broken)

    with pytest.raises(sqlite3.OperationalError):
        migrate_whole(connection)

    assert schema(connection) == before
    assert connection.execute("PRAGMA user_version").fetchone() == (len(broken) - 1,)


@pytest.mark.parametrize(
    "change",
    [
        "status = 'lost'",
        "status = 'running', lease_expires_at = NULL",
        "status = 'running', worker_id = NULL",
        "status = 'pending', lease_expires_at = NULL",
        "status = 'completed', lease_expires_at = NULL",
        "priority = 11",
        "retry_count = max_retries + 1",
        "retry_count = -1",
        "attempt = 'one'",
    ],
)
def test_the_file_refuses_a_job_that_cannot_be(tmp_path: Path, change: str) -> None:
    store = SqliteStore(tmp_path / "queuelog.db")
    insert(store)
    claim_one(store)
    store.close()
    connection = sqlite3.connect(tmp_path / "queuelog.db")

    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(f"UPDATE jobs SET {change}")
    connection.close()
