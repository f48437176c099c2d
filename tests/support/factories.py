"""Clocks, identities and jobs in any state."""

from typing import Any

from queuelog_core import transitions
from queuelog_core.documents import Document, compact
from queuelog_core.identity import Identity, Role
from queuelog_core.job import Job, Priority, Status
from queuelog_core.new_job import NewJob
from queuelog_core.reports import Report, Verb

NOON = 1_795_953_600_000
"""2026-11-29T12:00:00.000Z, where every fake clock starts."""
LEASE = 300_000


class FakeClock:
    """A clock that moves only when it is told to; milliseconds."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


class FakeSeconds:
    """A monotonic clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def producer(name: str = "shop", **powers: Any) -> Identity:
    return Identity(name=name, role=Role.PRODUCER, **{"priority_max": Priority.HIGH, **powers})


def worker(name: str = "mailer", **powers: Any) -> Identity:
    return Identity(name=name, role=Role.WORKER, **{"priority_max": Priority.MEDIUM, **powers})


def admin(name: str = "root", **powers: Any) -> Identity:
    return Identity(name=name, role=Role.ADMIN, **{"priority_max": Priority.CRITICAL, **powers})


def document(value: Any) -> Document:
    return Document(value, compact(value))


def new_job(job_type: str = "email", payload: Any = None, **asked: Any) -> NewJob:
    return NewJob(type=job_type, payload=document({} if payload is None else payload), **asked)


def pending_job(now: int = NOON, **fields: Any) -> Job:
    """A job as a store takes it: pending, due at `now`, without an id."""
    made: dict[str, Any] = {
        "id": 0,
        "type": "email",
        "payload": "{}",
        "priority": Priority.MEDIUM,
        "producer_id": "shop",
        "max_retries": 3,
        "created_at": now,
        "updated_at": now,
        "run_at": now,
    }
    return Job(**(made | fields))


def report(verb: Verb, attempt: int | None = 1, name: str = "mailer", digest: str = "") -> Report:
    return Report(verb=verb, worker_id=name, attempt=attempt, digest=digest or f"{verb}-digest")


def tell(job: Job, said: Report, now: int = NOON) -> Job:
    """The job after a report without result, error or delay; the longest run is 12 leases."""
    match said.verb:
        case Verb.COMPLETE:
            return transitions.complete(job, now, said, None)
        case Verb.FAIL:
            return transitions.fail(job, now, said, delay=0)
        case Verb.HEARTBEAT:
            return transitions.heartbeat(job, now, said, LEASE, 12 * LEASE)
        case Verb.RELEASE:
            return transitions.release(job, now, said, delay=0, backoff=0)


def running_job(now: int = NOON, name: str = "mailer", **fields: Any) -> Job:
    """A job that `name` claimed at `now`, for LEASE milliseconds."""
    return transitions.claim(pending_job(now, id=1, **fields), now, name, LEASE)


def job_in(status: Status, now: int = NOON, **fields: Any) -> Job:
    """A job that came into a status by real transitions: one claim, except pending."""
    if status is Status.PENDING:
        return pending_job(now, id=1, **fields)
    running = running_job(now, **fields)
    match status:
        case Status.RUNNING:
            return running
        case Status.COMPLETED:
            return transitions.complete(running, now, report(Verb.COMPLETE), None)
        case Status.FAILED:
            return transitions.fail(running, now, report(Verb.FAIL), delay=0, retryable=False)
        case Status.CANCELLED:
            asked = transitions.cancel(running, now)
            return transitions.fail(asked, now, report(Verb.FAIL), delay=0)


def expired_job(now: int = NOON, **fields: Any) -> Job:
    """A job whose only attempt ended because its lease ran out."""
    return transitions.expire(running_job(now, **fields), now + LEASE, 0)


def without_id(job: Job) -> Job:
    return job._replace(id=0)
