"""The state of the reference model: plain dicts, and what a reader sees of them.

The model is written from the contract alone and imports nothing of the product. Instants are
milliseconds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from tests.model.calls import Caller, Job, Refusal

SECOND = 1000
HISTORY_MAX = 10
YEAR_SECONDS = 31_536_000
LEVELS = {"low": 0, "medium": 10, "high": 20, "critical": 30}
TERMINAL = ("completed", "failed", "cancelled")
TIMES = {
    *("claimed_at", "created_at", "updated_at", "run_at", "lease_expires_at", "finished_at"),
    "cancel_requested_at",
}
FIELDS = (
    *("id", "type", "payload", "priority", "status", "retry_count", "max_retries"),
    *("idempotency_key", "claimed_at", "worker_id", "error", "created_at", "updated_at", "run_at"),
    *("attempt", "lease_expires_at", "release_count", "producer_id", "error_code", "result"),
    *("finished_at", "cancel_requested_at"),
)
ATTEMPT_FIELDS = (
    *("attempt", "worker_id", "claimed_at", "ended_at", "outcome", "error_code", "error"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TypeRules(NamedTuple):
    """What holds for the jobs of one type; `backoff` is its kind, base and cap in seconds."""

    max_retries: int = 3
    lease_seconds: int = 300
    max_runtime_seconds: int = 3600
    backoff: tuple[str, int, int] = ("none", 0, 0)
    priority_max: str = "critical"
    accept: bool = True

    def wait(self, retry: int) -> int:
        """The backoff before a retry, without its jitter."""
        kind, base, most = self.backoff
        times = {"none": 0, "fixed": 1, "exponential": 1 << (retry - 1)}[kind]
        return min(base * times, most) * SECOND


class World:
    """All jobs; `changed` are those that the call at hand has written or deleted."""

    def __init__(self, callers: Mapping[str, Caller], types: Mapping[str, TypeRules]) -> None:
        self.callers = callers
        self.types = types
        self.jobs: dict[int, Job] = {}
        self.late_reports: Counter[str] = Counter()
        self.now = 0
        self.changed: set[int] = set()
        self.new_ids: Iterator[int] = iter(())
        self.newest_id = 0

    def add(self, job: Job) -> Job:
        """A job that is new, under the id that the product has just given out."""
        job["id"] = next(self.new_ids, None)
        assert job["id"] is not None, "there is no id for a new job"
        assert job["id"] > self.newest_id, "ids grow"
        self.newest_id = job["id"]
        self.jobs[job["id"]] = job
        self.changed.add(job["id"])
        return job

    def write(self, job: Job, **changes: Any) -> Job:
        job.update(changes, updated_at=self.now)
        self.changed.add(job["id"])
        return job

    def find(self, means: Callable[[Job], bool]) -> list[Job]:
        return [job for job in self.jobs.values() if means(job)]

    def pending(self, types: Iterable[str]) -> list[Job]:
        return self.find(lambda job: job["status"] == "pending" and job["type"] in types)

    def running(self, types: Iterable[str]) -> list[Job]:
        return self.find(lambda job: job["status"] == "running" and job["type"] in types)

    def seen(self, caller: Caller, job_id: int | None) -> Job | None:
        """The job, if it is there and the caller may see it."""
        job = self.jobs.get(job_id or 0)
        return job if job is not None and caller.sees(job) else None

    def visible(self, caller: Caller, job_id: int | None) -> Job:
        """Reads, cancel and redrive do not tell a hidden job from none."""
        job = self.seen(caller, job_id)
        if job is None:
            raise Refusal(404, "not-found")
        return job

    def types_of(self, caller: Caller) -> list[str]:
        return sorted(name for name in self.types if caller.may_use(name))


def created_between(where: Mapping[str, Any], job: Job) -> bool:
    """A filter's `created_after` includes its instant, `created_before` does not."""
    after, before = where.get("created_after"), where.get("created_before")
    return (after is None or instant(after) <= job["created_at"]) and (
        before is None or job["created_at"] < instant(before)
    )


def shown(job: Job, reader: Caller) -> dict[str, Any]:
    """The job as its reader may see it."""
    hidden = set() if reader.role == "admin" else {"error"}
    if reader.role == "worker":
        hidden |= {"idempotency_key"}
        hidden |= set() if job["worker_id"] == reader.name else {"result"}
    return {
        name: None if name in hidden else text(job[name]) if name in TIMES else job[name]
        for name in FIELDS
    }


@lru_cache(1024)
def text(instant: int | None) -> str | None:
    """UTC with milliseconds and Z."""
    if instant is None:
        return None
    moment = _EPOCH + timedelta(milliseconds=instant)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def instant(written: str) -> int:
    """The inverse of `text`; any offset will do."""
    return (datetime.fromisoformat(written) - _EPOCH) // timedelta(milliseconds=1)
