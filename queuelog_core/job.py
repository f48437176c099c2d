"""What a job is: its fields, its statuses, its history. How it moves is in transitions.py.

Instants are milliseconds since 1970 UTC.
"""

from enum import IntEnum, StrEnum
from typing import NamedTuple

LEASE_EXPIRED, RELEASE_LIMIT, PAYLOAD_LOST = "lease_expired", "release_limit", "payload_lost"
SERVER_ERROR_CODES = frozenset({LEASE_EXPIRED, RELEASE_LIMIT, PAYLOAD_LOST})


class Status(StrEnum):
    """Each with the verbs that lead into it and what ends it."""

    PENDING = "pending"  # enqueue, redrive; fail, expire, release with runs left; until a claim
    RUNNING = "running"  # claim; a report or the end of the lease ends it
    COMPLETED = "completed"  # complete; terminal
    FAILED = "failed"  # fail or expire without retries left; terminal until redriven
    CANCELLED = "cancelled"  # cancel; terminal until redriven


TERMINAL = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Priority(IntEnum):
    """Gaps leave room for more levels without renumbering what is stored."""

    LOW = 0
    MEDIUM = 10
    HIGH = 20
    CRITICAL = 30

    @property
    def label(self) -> str:
        return self.name.lower()


PRIORITIES = {priority.label: priority for priority in Priority}


class Outcome(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    RELEASED = "released"


class Attempt(NamedTuple):
    """One claim and how it ended. `report` is the digest of the report that ended it;
    `closed` tells that a redrive voided it, so a late completion no longer counts."""

    attempt: int
    worker_id: str
    claimed_at: int
    ended_at: int | None = None
    outcome: Outcome | None = None
    error_code: str | None = None
    retry_spent: bool = False
    report: str | None = None
    closed: bool = False


class Job(NamedTuple):
    """A job as stored. `payload` and `result` are compact JSON text, `error_attempt` names the
    attempt whose text `error` is, `claim_key` is the digest of the idempotent claim it runs under,
    `history` holds the newest ten attempts, oldest first."""

    id: int
    type: str
    payload: str
    priority: Priority
    producer_id: str
    max_retries: int
    created_at: int
    updated_at: int
    run_at: int
    idempotency_key: str | None = None
    fingerprint: bytes | None = None
    status: Status = Status.PENDING
    retry_count: int = 0
    release_count: int = 0
    attempt: int = 0
    claimed_at: int | None = None
    worker_id: str | None = None
    lease_expires_at: int | None = None
    error: str | None = None
    error_code: str | None = None
    error_attempt: int | None = None
    result: str | None = None
    finished_at: int | None = None
    cancel_requested_at: int | None = None
    redriven_by: str | None = None
    claim_key: bytes | None = None
    history: tuple[Attempt, ...] = ()
    version: int = 1
