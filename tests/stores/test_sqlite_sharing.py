"""One store object in several threads, and across a fork."""

import multiprocessing
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.errors import StoreBusy
from queuelog_core.job import Job
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.volume import LOCAL
from tests.support.backlogs import thread_connection
from tests.support.factories import NOON
from tests.support.stores import claim_one, complete, insert


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "queuelog.db")
    yield store
    store.close()


def test_a_connection_is_never_carried_over_a_fork(store: SqliteStore) -> None:
    """B57: parent and children write at once, each through a connection of its own."""
    insert(store)
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=work, args=(store,)) for _ in range(4)]
    for child in children:
        child.start()
    work(store)
    for child in children:
        child.join(60)

    assert [child.exitcode for child in children] == [0] * 4
    assert store.get(1 + 5 * 20) is not None
    assert thread_connection(store).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def work(store: SqliteStore) -> None:
    for _ in range(20):
        insert(store)


def test_threads_share_a_store(store: SqliteStore) -> None:
    """B58."""
    faults: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(20):
                insert(store)
                complete(store, claim_one(store))
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    assert store.purge(NOON + 1, 1000) == 160


def test_connections_of_threads_that_ended_are_closed(store: SqliteStore) -> None:
    for _ in range(5):
        thread = threading.Thread(target=insert, args=(store,))
        thread.start()
        thread.join()

    newest_and_own = 2
    assert len(store._file._threads) <= newest_and_own


def test_threads_that_wait_too_long_for_their_turn_are_told(store: SqliteStore) -> None:
    told: list[BaseException] = []
    store._file._volume = LOCAL._replace(busy_seconds=0.05)

    def wait_in_vain(connection: sqlite3.Connection) -> None:
        other = threading.Thread(target=try_to_write)
        other.start()
        other.join()

    def try_to_write() -> None:
        try:
            insert(store)
        except BaseException as error:
            told.append(error)

    store._file.write(wait_in_vain)

    assert [type(error) for error in told] == [StoreBusy]
    assert insert(store).id == 1


def test_a_write_that_failed_is_rolled_back_before_the_next_threads_turn(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next thread finds the file locked by a transaction that nobody needs."""
    insert(store)
    connection = thread_connection(store)
    still_open = []

    class Turn:
        def acquire(self, timeout: float) -> bool:
            return timeout > 0

        def release(self) -> None:
            still_open.append(connection.in_transaction)

    monkeypatch.setattr(store._file, "_writing", Turn())

    with pytest.raises(RuntimeError):
        store.claim(NOON, ["email"], 1, broken, broken)

    assert still_open == [False]


def broken(_: object) -> Job:
    raise RuntimeError
