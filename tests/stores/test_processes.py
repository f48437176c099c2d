"""Many processes on one store: each attempt to one caller, one key makes one job."""

import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from queuelog_core.job import Status
from queuelog_core.stores import open_store
from tests.support.dynamodb import Engine
from tests.support.engines import gives_in_order
from tests.support.factories import pending_job
from tests.support.processes import run_all, until_free
from tests.support.stores import claim, complete, fail, insert

LARGE = '{"text":"' + "x" * 2000 + '"}'
JOBS = {
    "local": 2_000,
    "network": 200,
    "dynalite": int(os.environ.get("QUEUELOG_DRAINED", "500")),
    "ministack": int(os.environ.get("QUEUELOG_DRAINED_MINISTACK", "200")),
}


def drain(url: str) -> list[tuple[int, int]]:
    store = until_free(lambda: open_store(url))
    taken = []
    while jobs := until_free(lambda: claim(store, types=["email"])):
        job = jobs[0]
        taken.append((job.id, job.attempt))
        until_free(partial(complete, store, job))
    store.close()
    return taken


def assert_each_is_claimed_once(url: str, jobs: int) -> None:
    store = open_store(url)
    made = store.insert_many([pending_job() for _ in range(jobs)])

    taken = run_all(drain, url)

    attempts = Counter(attempt for part in taken for attempt in part)
    assert set(attempts) == {(job.id, 1) for job, _ in made}
    assert set(attempts.values()) == {1}
    assert store.stats(0, None).statuses["email"][Status.COMPLETED] == len(made)
    # B14: no process is handed jobs out of their order.
    assert not gives_in_order(store) or all(part == sorted(part) for part in taken)


def test_eight_processes_claim_each_job_exactly_once(store_url: str, engine: str) -> None:
    assert_each_is_claimed_once(store_url, JOBS[engine])


def test_eight_processes_claim_each_job_exactly_once_on_ministack(ministack_engine: Engine) -> None:
    url = ministack_engine.url(ministack_engine.make_table())

    assert_each_is_claimed_once(url, JOBS["ministack"])


def same_key(url: str, rounds: int) -> list[tuple[int, bool]]:
    store = open_store(url)
    return [
        (job.id, created)
        for job, created in (
            store.insert(pending_job(idempotency_key=f"key {number}", payload=LARGE))
            for number in range(rounds)
        )
    ]


def test_one_key_makes_one_job_also_where_its_payload_is_written_first(
    dynalite_engine: Engine,
) -> None:
    """B34. tests/system/test_barrier_races.py has the small ones, on every store."""
    rounds = 50

    answers = run_all(same_key, dynalite_engine.url(dynalite_engine.make_table()), rounds)

    for number in range(rounds):
        answered = [answer[number] for answer in answers]
        assert len({job_id for job_id, _ in answered}) == 1
        assert sum(created for _, created in answered) == 1


def mixed_writes(url: str, rounds: int) -> int:
    """Each verb reads the job before it writes, as every guarded update does."""
    store = open_store(url)
    for _ in range(rounds):
        insert(store)
        insert(store)
        (first,) = until_free(lambda: claim(store, types=["email"]))
        store.get(first.id)
        fail(store, first)
        (second,) = until_free(lambda: claim(store, types=["email"]))
        complete(store, second)
    store.close()
    return rounds


@pytest.mark.parametrize("volume", ["local", "network"])
def test_eight_writers_that_read_first_are_never_told_that_the_file_is_locked(
    tmp_path: Path, volume: str
) -> None:
    """B53: a transaction that begins as a reader is refused at once when it wants to write."""
    url = f"sqlite:///{tmp_path}/queuelog.db?volume={volume}"
    open_store(url)

    rounds = sum(run_all(mixed_writes, url, 40))

    statuses = open_store(url).stats(0, None).statuses["email"]
    assert statuses[Status.COMPLETED] == rounds
    assert statuses[Status.PENDING] + statuses.get(Status.FAILED, 0) == rounds
