"""What calls return. Times are aware datetimes in UTC; what is hidden from the key is None.

Fields of a newer server that this client does not know are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

TERMINAL = frozenset({"completed", "failed", "cancelled"})


class Job(NamedTuple):
    """A job as the API answers it."""

    id: int
    type: str
    payload: dict[str, Any]
    priority: str
    status: str
    retry_count: int
    max_retries: int
    idempotency_key: str | None
    claimed_at: datetime | None
    worker_id: str | None
    error: str | None
    created_at: datetime
    updated_at: datetime
    run_at: datetime
    attempt: int
    lease_expires_at: datetime | None
    release_count: int
    producer_id: str
    error_code: str | None
    result: Any
    finished_at: datetime | None
    cancel_requested_at: datetime | None

    @property
    def is_finished(self) -> bool:
        """Whether it is completed, failed or cancelled."""
        return self.status in TERMINAL

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError or ValueError for a document that is no job."""
        return cls(**_typed(cls, document))


class Attempt(NamedTuple):
    """One claim of a job and how it ended; `outcome` is None while it runs."""

    attempt: int
    worker_id: str
    claimed_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error_code: str | None
    error: str | None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError or ValueError for a document that is none."""
        return cls(**_typed(cls, document))


class Attempts(NamedTuple):
    """The newest attempts, oldest first, and how many older ones are gone."""

    attempts: list[Attempt]
    dropped: int

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError or ValueError for a document that is none."""
        return cls(list(map(Attempt.from_json, document["attempts"])), document["dropped"])


class Lease(NamedTuple):
    """What a heartbeat tells."""

    lease_expires_at: datetime
    lease_seconds_remaining: int
    cancel_requested: bool

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError or ValueError for a document that is none."""
        return cls(**_typed(cls, document))


class Claimed(NamedTuple):
    """Jobs, now the caller's; `next_due_in_seconds` None means that the types are drained."""

    jobs: list[Job]
    next_due_in_seconds: int | None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError or ValueError for a document that is none."""
        return cls(list(map(Job.from_json, document["jobs"])), document["next_due_in_seconds"])


class Page(NamedTuple):
    """Some jobs of a listing, and where the next ones begin if there are any."""

    jobs: list[Job]
    next_cursor: str | None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError or ValueError for a document that is none."""
        return cls(list(map(Job.from_json, document["jobs"])), document["next_cursor"])


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of one job of a batch: an id, or the problem that it was refused with."""

    index: int
    status: int
    id: int | None = None
    replayed: bool = False
    payload_mismatch: bool = False
    error: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any], index: int) -> Self:
        """Raises KeyError, TypeError or ValueError for a document that is none."""
        status = _whole(document["status"])
        if "error" in document:
            return cls(index, status, error=dict(document["error"]))
        told = (document[name] for name in ("replayed", "payload_mismatch"))
        return cls(index, status, _whole(document["id"]), *told)


def batch_results(document: Mapping[str, Any], first: int, count: int) -> list[BatchResult]:
    """One for each job of a request whose jobs begin at the index `first`. Raises KeyError,
    TypeError or ValueError for a document that answers for other jobs."""
    results = document["results"]
    if [result["index"] for result in results] != list(range(count)):
        raise ValueError("other jobs than those that were sent")
    return [BatchResult.from_json(result, first + result["index"]) for result in results]


class Redriven(NamedTuple):
    """What a redrive by filter found and changed."""

    matched: int
    redriven: int
    more: bool

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError for a document that is none."""
        return cls(*(document[name] for name in cls._fields))


def _typed(cls: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _time(document[name]) if name.endswith("_at") else document[name]
        for name in cls._fields
    }


def _whole(number: Any) -> int:
    if not isinstance(number, int):
        raise TypeError("no whole number")
    return number


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
