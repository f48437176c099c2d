"""Purge: what finished long enough ago goes, in small transactions that let others in."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from queuelog_core import transitions
from queuelog_core.clock import INSTANT_MAX
from queuelog_core.job import TERMINAL, Job, Status
from queuelog_core.stores import Filter, Store, open_store
from queuelog_core.stores.sqlite import PURGED_PER_TRANSACTION, SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import LEASE, NOON, pending_job
from tests.support.processes import FRESH, Fresh
from tests.support.stores import claim, claim_one, claims, complete, fail, insert, settle

WAIT_SECONDS = 60.0


def update(store: Store, job: Job, transition: Callable[[Job], Job]) -> Job:
    updated = store.update(job.id, transition)
    assert updated is not None
    return updated[0]


def cancel(store: Store, job: Job) -> Job:
    return update(store, job, lambda job: transitions.cancel(job, NOON))


def fail_for_good(store: Store, job: Job, now: int) -> Job:
    limited = update(store, job, lambda job: job._replace(retry_count=3, version=job.version + 1))
    return fail(store, limited, now)


ENDINGS = {
    Status.COMPLETED: lambda store, now: complete(store, claim_one(store), now),
    Status.FAILED: lambda store, now: fail_for_good(store, claim_one(store), now),
    Status.CANCELLED: lambda store, now: fail(store, cancel(store, claim_one(store)), now),
}


def finish(store: Store, status: Status, now: int = NOON + 1) -> Job:
    """A job that ended in this status at this time."""
    insert(store)
    job = ENDINGS[status](store, now)
    assert (job.status, job.finished_at) == (status, now)
    return job


def finished_at_once(store: Store, jobs: int) -> None:
    store.insert_many([pending_job() for _ in range(jobs)])
    for job in claim(store, limit=jobs):
        complete(store, job)


def ids(store: Store) -> set[int]:
    return {job.id for job in store.list(Filter(), 1000, None).jobs}


def test_every_terminal_status_is_tried() -> None:
    assert set(ENDINGS) == set(TERMINAL)


@pytest.mark.parametrize("status", TERMINAL)
def test_purge_deletes_the_jobs_of_the_statuses_asked_for_and_no_others(
    store: Store, status: Status
) -> None:
    ended = {status: finish(store, status).id for status in TERMINAL}

    purged = store.purge(NOON + 2, 100, [status])

    assert purged == 1
    assert ids(store) == {*ended.values()} - {ended[status]}
    assert store.stats(NOON, None).statuses["email"][status] == 0


@pytest.mark.parametrize("status", TERMINAL)
def test_purge_deletes_only_jobs_that_finished_before_the_instant(
    store: Store, status: Status
) -> None:
    early, _, late = (finish(store, status, NOON + age).id for age in (1, 2, 3))

    assert store.purge(NOON + 1, 100) == 0
    assert store.purge(NOON + 2, 100) == 1
    assert early not in ids(store)
    assert store.purge(NOON + 3, 100) == 1
    assert ids(store) == {late}


def test_purge_never_deletes_an_unfinished_job(store: Store) -> None:
    insert(store)
    overdue = claim_one(store, lease=1)
    insert(store)
    asked = claim_one(store)
    cancel(store, asked)
    insert(store)
    insert(store, run_at=NOON + LEASE)

    assert store.purge(INSTANT_MAX, 100) == 0
    assert len(ids(store)) == 4
    assert {overdue.id, asked.id} <= ids(store)


def test_purge_stops_at_its_limit_over_all_statuses(store: Store) -> None:
    for status in (*TERMINAL, *TERMINAL):
        finish(store, status)

    assert [store.purge(NOON + 2, 4) for _ in range(3)] == [4, 2, 0]


def test_a_purge_deletes_at_most_two_hundred_jobs_a_transaction(
    store: SqliteStore, tmp_path: Path
) -> None:
    finished_at_once(store, 450)
    left = [450]

    with closing(sqlite3.connect(tmp_path / "queuelog.db")) as reader:

        def note(sent: str) -> None:
            if sent.startswith(("BEGIN IMMEDIATE", "COMMIT")):
                left.append(reader.execute("SELECT count(*) FROM jobs").fetchone()[0])

        connection = thread_connection(store)
        connection.set_trace_callback(note)
        assert store.purge(NOON + 1, 420) == 420
        connection.set_trace_callback(None)

    left.append(len(ids(store)))
    steps = [before - after for before, after in pairwise(left)]
    assert [step for step in steps if step] == [200, 200, 20]
    assert store.purge(NOON + 1, 420) == 30


def claim_meanwhile(store: SqliteStore, path: Path, asks: Any, claimed: Any, seen: Any) -> None:
    """Claim a job; tell when it wants the lock, and how many finished jobs were left when it had
    the lock."""
    take_turn = store._file._take_turn

    def tell(deadline: float) -> None:
        asks.set()
        take_turn(deadline)

    def give(job: Job) -> Job:
        with closing(sqlite3.connect(path)) as reader:
            query = "SELECT count(*) FROM jobs WHERE status = 'completed'"
            seen.put(reader.execute(query).fetchone()[0])
        return claims(NOON)(job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store._file, "_take_turn", tell)
        jobs = store.claim(NOON, ["pdf"], 1, settle(NOON), give).jobs
    assert len(jobs) == 1
    claimed.set()


def claim_in_a_process(url: str, *arguments: Any) -> None:
    claim_meanwhile(cast(SqliteStore, open_store(url)), *arguments)


@pytest.mark.parametrize("who", ["another thread", "another process"])
def test_a_claim_waits_for_the_batch_that_runs_and_for_no_other(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """Batches are counted, nothing is measured: the first one waits until the claim wants the lock,
    and the purge then stands back until the claim has its job."""
    path = tmp_path / "queuelog.db"
    batches = 3
    finished_at_once(store, batches * PURGED_PER_TRANSACTION)
    insert(store, type="pdf")
    make: Any = threading if who == "another thread" else FRESH
    asks, claimed, seen = make.Event(), make.Event(), FRESH.Queue()
    told = (path, asks, claimed, seen)
    url = f"sqlite:///{path}?volume={'network' if store._file._volume.guarded else 'local'}"
    claimer: Any = Fresh(target=claim_in_a_process, args=(url, *told))
    if who == "another thread":
        claimer = threading.Thread(target=claim_meanwhile, args=(store, *told))

    def watch(sent: str) -> None:
        if sent.strip().startswith("DELETE FROM jobs WHERE") and not asks.is_set():
            claimer.start()
            assert asks.wait(WAIT_SECONDS)

    monkeypatch.setattr(store._file, "let_others_write", lambda: claimed.wait(WAIT_SECONDS))
    thread_connection(store).set_trace_callback(watch)
    purged = store.purge(NOON + 1, 10_000)
    claimer.join()

    assert seen.get(timeout=WAIT_SECONDS) == (batches - 1) * PURGED_PER_TRANSACTION
    assert purged == batches * PURGED_PER_TRANSACTION


def test_between_two_batches_a_purge_stands_back_for_longer_than_others_wait_between_two_tries(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_at_once(store, 450)
    slept: list[float] = []
    monkeypatch.setattr("queuelog_core.stores.sqlite_file.time.sleep", slept.append)

    assert store.purge(NOON + 1, 10_000) == 450

    assert len(slept) == 2
    assert min(slept) > max(store._file._volume.pause_seconds)


def test_a_purge_leaves_nothing_of_a_job_and_the_numbers_are_right(store: SqliteStore) -> None:
    kept = finish(store, Status.COMPLETED, NOON + 9)
    for _ in range(3):
        insert(store)
        fail(store, claim_one(store), error="text")
        complete(store, claim_one(store), NOON + 1, result="[1]")
    finish(store, Status.FAILED)
    finish(store, Status.CANCELLED)

    assert store.purge(NOON + 2, 100) == 5

    rows = {
        table: [row[0] for row in thread_connection(store).execute(f"SELECT {key} FROM {table}")]
        for table, key in [("jobs", "id"), ("job_payloads", "job_id"), ("job_results", "job_id")]
    }
    assert rows == {"jobs": [kept.id], "job_payloads": [kept.id], "job_results": []}
    assert store.get_with_errors(2) is None
    assert store.check() == []
    counted = store.stats(NOON, None).statuses["email"]
    assert {status: n for status, n in counted.items() if n} == {Status.COMPLETED: 1}


@pytest.mark.parametrize("opened_again", [False, True], ids=["same opening", "opened again"])
@pytest.mark.parametrize("status", TERMINAL)
def test_a_purged_job_frees_its_key_and_never_its_id_even_when_it_was_the_newest(
    store: Store, status: Status, opened_again: bool
) -> None:
    job = insert(store, idempotency_key="k")
    ENDINGS[status](store, NOON)
    assert store.purge(NOON + 1, 10) == 1
    if opened_again:
        store.close()

    again, created = store.insert(pending_job(idempotency_key="k"))

    assert created
    assert again.id == job.id + 1
    assert store.get(again.id) == again
