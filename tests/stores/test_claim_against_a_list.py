"""Claims of random histories, beside a list that is sorted by the contract's order."""

import random
from collections.abc import Iterable

import pytest

from queuelog_core import transitions
from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores import Filter, Store
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim, claims, settle

TYPES = ("email", "pdf", "sync")
STEPS = 25


def expected(jobs: Iterable[Job], now: int, types: list[str], limit: int) -> list[int]:
    """The ids that a claim must give, in order: settle what is overdue, then take the best."""
    due = []
    for job in jobs:
        if job.type not in types:
            continue
        lease_end = job.lease_expires_at
        if job.status is Status.RUNNING and lease_end is not None and lease_end <= now:
            settled = transitions.expire(job, now, 0)
            due += [settled] if settled.status is Status.PENDING else []
        elif job.status is Status.PENDING:
            due.append(job)
    due = [job for job in due if job.run_at <= now]
    due.sort(key=lambda job: (-job.priority, job.run_at, job.id))
    return [job.id for job in due[:limit]]


@pytest.mark.parametrize("seed", range(20))
def test_a_claim_gives_what_a_sorted_list_would_give(store: Store, seed: int) -> None:
    source = random.Random(seed)
    now = NOON
    for _ in range(source.randint(5, 25)):
        run_at = now + source.choice([-5, -3, -1, 0, 1, 10])
        job_type, priority = source.choice(TYPES), source.choice(list(Priority))
        store.insert(pending_job(type=job_type, priority=priority, run_at=run_at))

    for _ in range(STEPS):
        types = source.sample(TYPES, source.randint(1, 3))
        limit, lease = source.choice([1, 1, 2, 5, 25]), source.choice([1, 3, 50])
        wanted = expected(store.list(Filter(), 200, None).jobs, now, types, limit)

        given = claim(store, now, types, limit, lease)

        assert [job.id for job in given] == wanted
        now += source.choice([0, 1, 2, 5])


def test_a_batch_of_claims_that_breaks_in_the_middle_gives_nothing(store: Store) -> None:
    """B31: half of a batch would run nowhere until its leases end."""
    store.insert_many([pending_job() for _ in range(10)])
    left = 4

    def claim_but_break(job: Job) -> Job:
        nonlocal left
        if left == 0:
            raise RuntimeError("the fifth")
        left -= 1
        return claims(NOON)(job)

    with pytest.raises(RuntimeError, match="the fifth"):
        store.claim(NOON, ["email"], 10, settle(NOON), claim_but_break)

    assert store.stats(NOON, None).statuses["email"] == {Status.PENDING: 10}
    assert [job.attempt for job in claim(store, limit=10)] == [1] * 10
