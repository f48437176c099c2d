"""What a producer asks for, and whether it may: from a request to a job that can be stored."""

from typing import NamedTuple

from queuelog_core.documents import Document, content_digest
from queuelog_core.errors import Forbidden, PriorityNotAllowed, invalid
from queuelog_core.identity import Identity
from queuelog_core.job import Job, Priority
from queuelog_core.job_types import JobTypes

DELAY_SECONDS_MAX = 31_536_000


class NewJob(NamedTuple):
    """What a producer asks for. None means not sent; instants are milliseconds."""

    type: str
    payload: Document | None = None
    priority: Priority | None = None
    max_retries: int | None = None
    idempotency_key: str | None = None
    key_from_header: bool = False
    run_at: int | None = None
    delay_seconds: int | None = None


def admit(new: NewJob, identity: Identity, job_types: JobTypes, now: int) -> Job:
    """The job to store.

    Raises ValidationFailed off the allowlist, Forbidden beyond the caps of the key.
    """
    policy = job_types.get(new.type)
    if policy is None or not policy.accept:
        raise invalid("type", "not-allowed", "This type is not on the allowlist.")
    run_at = _run_at(new, now)
    if not identity.may_use(new.type):
        raise Forbidden("This key may not use that type.")
    cap = min(identity.priority_max, policy.priority_max)
    priority = min(Priority.MEDIUM, cap) if new.priority is None else new.priority
    if priority > cap:
        raise PriorityNotAllowed("The priority is above what this key may use.")
    return Job(
        id=0,
        type=new.type,
        payload="{}" if new.payload is None else new.payload.text,
        priority=priority,
        producer_id=identity.name,
        max_retries=policy.max_retries if new.max_retries is None else new.max_retries,
        created_at=now,
        updated_at=now,
        run_at=run_at,
        idempotency_key=new.idempotency_key,
        fingerprint=None if new.idempotency_key is None else _fingerprint(new),
    )


def _run_at(new: NewJob, now: int) -> int:
    if new.delay_seconds is not None:
        return now + new.delay_seconds * 1000
    if new.run_at is None:
        return now
    if new.run_at > now + DELAY_SECONDS_MAX * 1000:
        raise invalid("run_at", "out-of-range", "At most a year from now.")
    # A time in the past means now: an older run_at would jump the queue.
    return max(now, new.run_at)


def _fingerprint(new: NewJob) -> bytes:
    sent = {
        "type": new.type,
        "payload": None if new.payload is None else new.payload.value,
        "priority": None if new.priority is None else new.priority.label,
        "max_retries": new.max_retries,
        "run_at": new.run_at,
        "delay_seconds": new.delay_seconds,
    }
    return content_digest({name: value for name, value in sent.items() if value is not None})
