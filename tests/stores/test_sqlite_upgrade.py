"""A file of an older version is upgraded once, whoever opens it and whoever dies at it."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from queuelog_core.stores import open_store, sqlite_schema
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.factories import pending_job
from tests.support.processes import exit_code_of, run_all

JOBS = 1_000
NEXT = (
    "ALTER TABLE jobs ADD COLUMN shade TEXT",
    "UPDATE jobs SET shade = 'blue'",
    "CREATE INDEX jobs_shade ON jobs (shade)",
)
"""What the next version might bring; run twice it would fail on a duplicate column."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of today's version with a thousand jobs."""
    store = SqliteStore(tmp_path / "queuelog.db")
    store.insert_many([pending_job(payload=f'{{"n":{number}}}') for number in range(JOBS)])
    store.close()
    return tmp_path / "queuelog.db"


def read(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def learn_the_next_version() -> None:
    known = (*sqlite_schema.migrations(), NEXT)
    sqlite_schema.migrations = lambda: known  # type: ignore[assignment]


def upgrade_and_read(path: Path) -> str:
    learn_the_next_version()
    job = open_store(f"sqlite:///{path}").get(JOBS)
    return job.payload if job else ""


def upgrade_and_die(path: Path, statement: str) -> None:
    """Killed just before this statement of the upgrade."""
    learn_the_next_version()
    connection = sqlite3.connect(path, isolation_level=None)

    def watch(sent: str) -> None:
        if sent.startswith(statement):
            os.kill(os.getpid(), signal.SIGKILL)

    connection.execute("BEGIN IMMEDIATE")
    connection.set_trace_callback(watch)
    sqlite_schema.migrate(connection)
    connection.execute("COMMIT")


def assert_upgraded(path: Path) -> None:
    now = len(sqlite_schema.migrations()) + 1
    assert read(path, "PRAGMA user_version") == [(now,)]
    assert read(path, "PRAGMA integrity_check") == [("ok",)]
    assert read(path, "SELECT shade, count(*) FROM jobs GROUP BY shade") == [("blue", JOBS)]


def test_eight_processes_that_open_an_older_file_upgrade_it_once(path: Path) -> None:
    """B54: two that upgrade at once meet a duplicate column."""
    before = read(path, "SELECT id, type, run_at FROM jobs ORDER BY id")

    served = run_all(upgrade_and_read, path)

    assert served == [f'{{"n":{JOBS - 1}}}'] * 8
    assert_upgraded(path)
    assert read(path, "SELECT id, type, run_at FROM jobs ORDER BY id") == before


@pytest.mark.parametrize("statement", [*NEXT, "PRAGMA user_version", "COMMIT"])
def test_an_upgrade_that_was_killed_is_done_by_the_next_start(path: Path, statement: str) -> None:
    """B54."""
    assert exit_code_of(upgrade_and_die, path, statement) == -signal.SIGKILL
    assert read(path, "PRAGMA user_version") == [(len(sqlite_schema.migrations()),)]

    run_all(upgrade_and_read, path, processes=1)

    assert_upgraded(path)
