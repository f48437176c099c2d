"""What happens to a file while a store has it open, and what is told of it."""

import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores import Filter
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.volume import LOCAL, NETWORK, Volume
from tests.support.backlogs import thread_connection
from tests.support.stores import insert


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queuelog.db"


def test_what_a_second_try_gets_over_is_told_to_the_operator_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody was refused, but the disk may be dying."""
    store = SqliteStore(path)
    insert(store)
    thread_connection(store).execute("PRAGMA query_only=ON")

    insert(store)

    [told] = [record for record in caplog.records if record.levelname != "INFO"]
    assert (told.levelname, told.getMessage()) == ("WARNING", "store-recovered")
    cause = told.__dict__["fields"]["cause"]
    assert cause == f"{path}: the file or its folder is read-only (SQLITE_READONLY)"
    store.close()


class DoneAndFailed(sqlite3.Connection):
    """A commit is made, but the answer to its last step is lost, as a network can lose it."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        cursor = super().execute(statement, *values)
        if statement == "COMMIT" and self.total_changes:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            error.sqlite_errorname = "SQLITE_IOERR"
            raise error
        return cursor


@pytest.mark.parametrize("volume", [LOCAL, NETWORK], ids=["local", "network"])
def test_a_commit_that_was_done_and_yet_failed_is_refused_and_never_run_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, volume: Volume
) -> None:
    """Else a request without a key would make two jobs."""
    store = SqliteStore(path, volume)
    store.close()
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=DoneAndFailed))

    with pytest.raises(StoreUnavailable, match="SQLITE_IOERR"):
        insert(store)

    monkeypatch.undo()
    assert len(store.list(Filter(), 10, None).jobs) == 1
    assert insert(store).id == 2
    store.close()


@pytest.mark.parametrize("volume", [LOCAL, NETWORK], ids=["local", "network"])
def test_a_file_that_was_emptied_is_an_error_and_never_a_new_one(
    path: Path, volume: Volume
) -> None:
    """Nor is it somebody else's lock, which would soon be gone."""
    store = SqliteStore(path, volume)
    insert(store)
    thread_connection(store).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(path, 0)

    calls: list[Callable[[], object]] = [
        lambda: insert(store),
        lambda: store.get(1),
        store.check_writable,
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable, match="emptied or replaced") as refusal:
            call()
        assert type(refusal.value) is StoreUnavailable
    assert path.stat().st_size == 0
    store.close()
