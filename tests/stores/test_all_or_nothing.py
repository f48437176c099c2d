"""A batch that fails or is killed in the middle leaves nothing of itself, also in the file."""

import os
import signal
import sqlite3
from pathlib import Path
from typing import cast

import pytest

from queuelog_core.job import Job, Status
from queuelog_core.stores import Filter, Store, open_store
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import pending_job
from tests.support.processes import exit_code_of
from tests.support.stores import claim

BATCH = 10
FIFTH = BATCH // 2


def jobs(broken: int | None = None) -> list[Job]:
    """A batch with a key each, in which one job is against the schema."""
    made = [pending_job(idempotency_key=f"k{number}") for number in range(BATCH)]
    if broken is not None:
        made[broken] = made[broken]._replace(payload=None)  # type: ignore[arg-type]
    return made


def die_before(store: Store, statement: str, number: int) -> None:
    """Kill this process just before it sends such a statement for the given time."""
    left = number

    def watch(sent: str) -> None:
        nonlocal left
        left -= sent.strip().startswith(statement)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    thread_connection(cast(SqliteStore, store)).set_trace_callback(watch)


def insert_and_die(url: str, statement: str, number: int) -> None:
    store = open_store(url)
    die_before(store, statement, number)
    store.insert_many(jobs())


def claim_and_die(url: str, statement: str, number: int) -> None:
    store = open_store(url)
    die_before(store, statement, number)
    claim(store, limit=BATCH)


def found(store: Store) -> list[tuple[Status, int]]:
    return [(job.status, job.attempt) for job in store.list(Filter(), 100, None).jobs]


NOTHING_INSERTED: list[tuple[Status, int]] = []
NOTHING_CLAIMED = [(Status.PENDING, 0)] * BATCH


def test_a_batch_insert_that_fails_at_the_fifth_job_stores_none(store: SqliteStore) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        store.insert_many(jobs(broken=FIFTH))
    store.close()

    assert found(store) == NOTHING_INSERTED
    assert [created for _, created in store.insert_many(jobs())] == [True] * BATCH
    assert store.check() == []


@pytest.mark.parametrize("volume", ["local", "network"])
@pytest.mark.parametrize(
    ("statement", "number"), [("INSERT INTO job_payloads", FIFTH), ("COMMIT", 1)]
)
def test_a_batch_insert_that_is_killed_stores_none(
    tmp_path: Path, volume: str, statement: str, number: int
) -> None:
    url = f"sqlite:///{tmp_path}/queuelog.db?volume={volume}"
    open_store(url).close()

    assert exit_code_of(insert_and_die, url, statement, number) == -signal.SIGKILL

    store = cast(SqliteStore, open_store(url))
    assert found(store) == NOTHING_INSERTED
    assert store.check() == []
    assert [created for _, created in store.insert_many(jobs())] == [True] * BATCH
    store.close()


@pytest.mark.parametrize("volume", ["local", "network"])
@pytest.mark.parametrize(("statement", "number"), [("UPDATE jobs", FIFTH), ("COMMIT", 1)])
def test_a_batch_claim_that_is_killed_claims_none(
    tmp_path: Path, volume: str, statement: str, number: int
) -> None:
    """B31: all ten are still pending, none is gone or held by nobody."""
    url = f"sqlite:///{tmp_path}/queuelog.db?volume={volume}"
    store = cast(SqliteStore, open_store(url))
    store.insert_many(jobs())

    assert exit_code_of(claim_and_die, url, statement, number) == -signal.SIGKILL

    assert found(store) == NOTHING_CLAIMED
    store.close()
    assert found(store) == NOTHING_CLAIMED
    assert store.check() == []
    assert [job.id for job in claim(store, limit=BATCH)] == list(range(1, BATCH + 1))
    store.close()
