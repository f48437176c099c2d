"""Short ways to bring a store into a state."""

from collections.abc import Sequence

from queuelog_core import transitions
from queuelog_core.job import Job
from queuelog_core.reports import Verb
from queuelog_core.stores import Store, Transition
from tests.support.factories import LEASE, NOON, pending_job, report

TYPES = ("email", "pdf", "sync")


def insert(store: Store, **fields: object) -> Job:
    return store.insert(pending_job(**fields))[0]  # type: ignore[arg-type]


def errors_of(store: Store, job_id: int) -> dict[int, str]:
    """The texts of a job's failures by attempt."""
    found = store.get_with_errors(job_id)
    assert found is not None
    return dict(found[1])


def settle(now: int) -> Transition:
    return lambda job: transitions.expire(job, now, 0)


def claims(now: int, name: str = "mailer", lease: int = LEASE) -> Transition:
    return lambda job: transitions.claim(job, now, name, lease)


def claim(
    store: Store, now: int = NOON, types: Sequence[str] = TYPES, limit: int = 1, lease: int = LEASE
) -> Sequence[Job]:
    return store.claim(now, types, limit, settle(now), claims(now, lease=lease))[0]


def claim_one(store: Store, now: int = NOON, lease: int = LEASE) -> Job:
    (job,) = claim(store, now, lease=lease)
    return job


def complete(store: Store, job: Job, now: int = NOON, result: str | None = None) -> Job:
    said = report(Verb.COMPLETE, job.attempt)
    updated = store.update(job.id, lambda job: transitions.complete(job, now, said, result))
    assert updated is not None
    return updated[0]


def fail(store: Store, job: Job, now: int = NOON, error: str | None = None) -> Job:
    said = report(Verb.FAIL, job.attempt)
    updated = store.update(
        job.id, lambda job: transitions.fail(job, now, said, delay=0, error=error)
    )
    assert updated is not None
    return updated[0]
