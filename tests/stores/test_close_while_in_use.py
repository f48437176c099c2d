"""A store that is closed while other threads are inside calls: their calls end, nothing crashes."""

import threading
from pathlib import Path

from queuelog_core.stores.sqlite import SqliteStore
from tests.support.factories import pending_job
from tests.support.processes import exit_code_of

ROUNDS, THREADS = 200, 4


def insert_while_it_is_closed(path: Path) -> None:
    """Ends with 0 when each insert that was answered is there."""
    store = SqliteStore(path)
    stop = threading.Event()
    made: list[int] = []

    def insert() -> None:
        while not stop.is_set():
            made.append(store.insert(pending_job())[0].id)

    threads = [threading.Thread(target=insert) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    while len(made) < ROUNDS:
        store.close()
    stop.set()
    for thread in threads:
        thread.join()
    assert sum(1 for job_id in made if store.get(job_id)) == len(set(made)) == len(made)
    store.close()


def test_closing_under_calls_of_other_threads_neither_crashes_nor_loses(tmp_path: Path) -> None:
    assert exit_code_of(insert_while_it_is_closed, tmp_path / "queuelog.db") == 0


def test_a_closed_store_holds_no_file_open_once_the_calls_have_ended(tmp_path: Path) -> None:
    path = tmp_path / "queuelog.db"
    store = SqliteStore(path)
    inside, leave = threading.Event(), threading.Event()

    def stay(_connection: object) -> None:
        inside.set()
        leave.wait()

    thread = threading.Thread(target=store._file.read, args=(stay,))
    thread.start()
    inside.wait()
    store.close()
    leave.set()
    thread.join()

    held = [link.resolve() for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert path not in held
