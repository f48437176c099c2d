"""Many processes on one file: each attempt to one caller, no starving."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from queuelog_core.job import Status
from queuelog_core.stores import open_store
from tests.support.factories import pending_job
from tests.support.processes import run_all, until_free
from tests.support.stores import claim, complete, fail, insert


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


def mixed_writes(url: str, rounds: int) -> int:
    """Each verb reads the job before it writes, as every guarded update does."""
    store = open_store(url)
    for _ in range(rounds):
        insert(store)
        insert(store)
        (first,) = claim(store)
        store.get(first.id)
        fail(store, first)
        (second,) = claim(store)
        complete(store, second)
    return rounds


def test_eight_writers_that_read_first_are_never_told_that_the_file_is_locked(
    tmp_path: Path,
) -> None:
    """B53: a transaction that begins as a reader is refused at once when it wants to write."""
    url = f"sqlite:///{tmp_path}/queuelog.db"
    open_store(url)

    rounds = sum(run_all(mixed_writes, url, 40))

    statuses = open_store(url).stats(0, None).statuses["email"]
    assert statuses[Status.COMPLETED] == rounds
    assert statuses[Status.PENDING] + statuses.get(Status.FAILED, 0) == rounds
