"""Workers whose indexes lag behind, whose answers get lost, and who are throttled, all at once."""

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from queuelog_core.errors import Conflict, StoreUnavailable
from queuelog_core.job import Status
from queuelog_core.stores.dynamodb import DynamoDBStore
from tests.support.dynamodb import Engine, Kept
from tests.support.dynamodb_faults import Faulty, Lagging, lost, sent_twice, throttled
from tests.support.factories import LEASE, NOON, pending_job
from tests.support.seeds import seed
from tests.support.stores import claim, complete

THREADS = 4
JOBS = int(os.environ.get("QUEUELOG_RACED", "40"))
TYPES = ("email", "pdf")
T = TypeVar("T")


class Race:
    """What the workers of a table have done together."""

    def __init__(self, engine: Engine, shards: int) -> None:
        self.engine = engine
        self.table = engine.make_table()
        self.shards = shards
        self.taken: Counter[tuple[int, int]] = Counter()
        self.done: Counter[int] = Counter()
        self._lock = threading.Lock()

    def open(self, wrap: Callable[[Any], Kept]) -> DynamoDBStore:
        return self.engine.open(self.table, self.shards, client=wrap(self.engine.connect()))

    def fill(self) -> set[int]:
        """Jobs of two types, in the shards of the race."""
        store = self.open(Kept)
        made = store.insert_many([pending_job(type=TYPES[n % 2]) for n in range(JOBS)])
        store.close()
        return {job.id for job, _ in made}

    def work(self, store: DynamoDBStore, now: int) -> None:
        """Claim and complete until nothing is due, however often it takes."""
        idle = 0
        while idle < 8:
            try:
                jobs = claim(store, now, TYPES)
            except StoreUnavailable:
                continue
            idle = 0 if jobs else idle + 1
            for job in jobs:
                with self._lock:
                    self.taken[job.id, job.attempt] += 1
                with suppress(Conflict):
                    patiently(partial(complete, store, job, now))
                    with self._lock:
                        self.done[job.id] += 1
        store.close()

    def run(self, stores: list[DynamoDBStore], now: int = NOON) -> None:
        with ThreadPoolExecutor(THREADS) as threads:
            for worked in [threads.submit(self.work, store, now) for store in stores]:
                worked.result()


def patiently(call: Callable[[], T]) -> T:
    while True:
        with suppress(StoreUnavailable):
            return call()


def test_indexes_that_lag_give_no_attempt_twice_and_lose_no_job(dynalite_engine: Engine) -> None:
    source = random.Random(seed())
    race = Race(dynalite_engine, shards=2)
    made = race.fill()

    race.run([race.open(lambda client: Lagging(client, source)) for _ in range(THREADS)])

    assert set(race.taken) == {(job_id, 1) for job_id in made}
    assert set(race.taken.values()) == {1}
    assert race.done == Counter(made)


def test_lost_answers_and_throttling_give_no_attempt_twice_and_lose_no_job(
    dynalite_engine: Engine,
) -> None:
    source = random.Random(seed())
    race = Race(dynalite_engine, shards=1)
    made = race.fill()

    def faulty(client: Any) -> Kept:
        broken = Faulty(Lagging(client, source))
        broken.fail_sometimes({throttled: 0.03, lost: 0.03, sent_twice: 0.1}, source)
        return broken

    race.run([race.open(faulty) for _ in range(THREADS)])
    # Jobs whose claim was done and never answered are held by nobody until their lease is over.
    race.run([race.open(Kept)], NOON + LEASE)

    assert set(race.taken.values()) == {1}
    assert {job_id for job_id, _ in race.taken} == made
    assert set(race.done) == made
    store = race.open(Kept)
    jobs = [job for job_id in made if (job := store.get(job_id))]
    assert [job.status for job in jobs] == [Status.COMPLETED] * JOBS
    assert all(job.retry_count == job.attempt - 1 for job in jobs)
    store.close()


def test_one_key_makes_one_job_although_answers_get_lost(dynalite_engine: Engine) -> None:
    """B34, B35, B59: each of four threads sends each key until it is answered."""
    source = random.Random(seed())
    race = Race(dynalite_engine, shards=1)
    keys = [f"key {number}" for number in range(10)]

    def faulty(client: Any) -> Kept:
        broken = Faulty(client)
        broken.fail_sometimes({throttled: 0.05, lost: 0.1, sent_twice: 0.2}, source)
        return broken

    def send(store: DynamoDBStore) -> list[int]:
        jobs = [pending_job(idempotency_key=key, payload='"' + "x" * 600 + '"') for key in keys]
        ids = [patiently(partial(store.insert, job))[0].id for job in jobs]
        store.close()
        return ids

    with ThreadPoolExecutor(THREADS) as threads:
        told = list(threads.map(send, [race.open(faulty) for _ in range(THREADS)]))

    assert all(ids == told[0] for ids in told)
    assert len(set(told[0])) == len(keys)
    store = race.open(Kept)
    assert store.stats(NOON, None).statuses["email"][Status.PENDING] == len(keys)
    store.close()
