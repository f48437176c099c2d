"""The schema: fresh equals migrated, and the file itself refuses rows that cannot be."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.stores import sqlite_schema
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.sqlite_schema import APPLICATION_ID, migrate, migrations
from tests.support.stores import claim_one, insert


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "queuelog.db", isolation_level=None)
    yield connection
    connection.close()


def test_a_migrated_file_knows_its_version_and_its_application(
    connection: sqlite3.Connection,
) -> None:
    migrate(connection)

    assert connection.execute("PRAGMA user_version").fetchone() == (len(migrations()),)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_migrating_again_writes_nothing(connection: sqlite3.Connection) -> None:
    migrate(connection)
    changes = connection.total_changes
    version = connection.execute("PRAGMA data_version").fetchone()

    migrate(connection)

    assert connection.total_changes == changes
    assert connection.execute("PRAGMA data_version").fetchone() == version


def schema(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_a_file_migrated_step_by_step_equals_a_fresh_one(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = (*migrations(), ("CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT",))
    for known in range(1, len(everything) + 1):
        monkeypatch.setattr(sqlite_schema, "migrations", lambda known=known: everything[:known])
        migrate(connection)
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    migrate(fresh)

    assert schema(connection) == schema(fresh)
    fresh.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection)
    before = schema(connection)
    broken = (*migrations(), ("CREATE TABLE later (id)", "CREATE TABLE jobs (id)"))
    monkeypatch.setattr(sqlite_schema, "migrations", lambda: broken)

    with pytest.raises(sqlite3.OperationalError):
        migrate(connection)

    assert schema(connection) == before
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)


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
