"""Many processes on one file: each attempt to one caller, one migration, no starving."""

import contextlib
import multiprocessing
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from queuelog_core.errors import StoreBusy
from queuelog_core.job import Status
from queuelog_core.stores import open_store
from queuelog_core.stores.sqlite_schema import migrations
from tests.support.factories import pending_job
from tests.support.stores import claim, complete, insert

SPAWN = multiprocessing.get_context("spawn")
PROCESSES = 8
T = TypeVar("T")


def run_all(work: Callable[..., Any], *arguments: object, processes: int = PROCESSES) -> list[Any]:
    """What `work` returns in each of several processes that start together."""
    barrier = SPAWN.Barrier(processes)
    results = SPAWN.Queue()
    running = [
        SPAWN.Process(target=_child, args=(barrier, results, work, arguments))
        for _ in range(processes)
    ]
    for process in running:
        process.start()
    answers = [results.get(timeout=120) for _ in running]
    for process in running:
        process.join()
    failures = [answer for answer in answers if isinstance(answer, str)]
    assert not failures, failures[0]
    return answers


def _child(barrier: Any, results: Any, work: Callable[..., Any], arguments: Sequence[Any]) -> None:
    try:
        barrier.wait()
        results.put(work(*arguments))
    except Exception as error:
        results.put("".join(traceback.format_exception(error)))


def until_free(call: Callable[[], T]) -> T:
    """As every client does: a busy store has done nothing, so the call is made again."""
    while True:
        with contextlib.suppress(StoreBusy):
            return call()


def drain(url: str) -> list[tuple[int, int]]:
    store = until_free(lambda: open_store(url))
    taken = []
    while jobs := until_free(lambda: claim(store)):
        job = jobs[0]
        taken.append((job.id, job.attempt))
        until_free(partial(complete, store, job))
    return taken


@pytest.mark.parametrize(("volume", "jobs"), [("local", 2_000), ("network", 200)])
def test_eight_processes_claim_each_job_exactly_once(
    tmp_path: Path, volume: str, jobs: int
) -> None:
    url = f"sqlite:///{tmp_path}/queuelog.db?volume={volume}"
    store = open_store(url)
    store.insert_many([pending_job() for _ in range(jobs)])

    taken = run_all(drain, url)

    attempts = Counter(attempt for part in taken for attempt in part)
    assert set(attempts) == {(number, 1) for number in range(1, jobs + 1)}
    assert set(attempts.values()) == {1}
    assert store.stats(0, None).statuses["email"][Status.COMPLETED] == jobs
    for part in taken:
        # B14: no process is handed jobs out of their order.
        assert part == sorted(part)


def start(url: str) -> int:
    store = open_store(url)
    insert(store)
    return len(store.stats(0, None).statuses)


@pytest.mark.parametrize("volume", ["local", "network"])
def test_eight_processes_that_start_at_once_make_the_schema_once(
    tmp_path: Path, volume: str
) -> None:
    """B52, B54: a fresh file, opened by all at a barrier."""
    url = f"sqlite:///{tmp_path}/queuelog.db?volume={volume}"

    run_all(start, url)

    connection = sqlite3.connect(tmp_path / "queuelog.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (len(migrations()),)
    assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (PROCESSES,)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def same_key(url: str, rounds: int) -> list[tuple[int, bool]]:
    store = open_store(url)
    return [
        (job.id, created)
        for job, created in (
            store.insert(pending_job(idempotency_key=f"key {number}")) for number in range(rounds)
        )
    ]


def test_one_key_makes_one_job_however_many_send_it(tmp_path: Path) -> None:
    """B34."""
    rounds = 50
    url = f"sqlite:///{tmp_path}/queuelog.db"
    open_store(url)

    answers = run_all(same_key, url, rounds)

    for number in range(rounds):
        answered = [answer[number] for answer in answers]
        assert len({job_id for job_id, _ in answered}) == 1
        assert sum(created for _, created in answered) == 1
