"""What holds after each step whatever the model says: seen in the jobs themselves."""

from collections.abc import Mapping
from typing import Any

from queuelog_core.job import TERMINAL, Job, Outcome, Status
from tests.model.calls import Request
from tests.model.scene import CALLERS, RETENTION_SECONDS
from tests.model.wire import Reply
from tests.model.world import SECOND, instant

Jobs = Mapping[int, Job]


def check_job(job: Job) -> None:
    """What is true of a job at any time."""
    assert 0 <= job.retry_count <= job.max_retries
    assert job.attempt == (job.history[-1].attempt if job.history else 0)
    completed = [entry for entry in job.history if entry.outcome is Outcome.COMPLETED]
    assert len(completed) == (job.status is Status.COMPLETED)
    assert [job.history[-1]] == completed if completed else True
    assert (job.status is Status.RUNNING) == (job.lease_expires_at is not None)
    owned = job.worker_id is not None and job.claimed_at is not None
    assert owned if job.status is Status.RUNNING else True
    assert job.worker_id is None if job.status is Status.PENDING else True
    assert (job.status in TERMINAL) == (job.finished_at is not None)
    unfinished = [entry for entry in job.history if entry.outcome is None]
    assert unfinished == ([job.history[-1]] if job.status is Status.RUNNING else [])


def check_change(before: Job, after: Job, verb: str) -> None:
    """What is true of two states of a job, one after the other."""
    assert after.version > before.version
    assert after.attempt - before.attempt in (0, 1)
    assert before.updated_at <= after.updated_at
    assert (before.id, before.created_at, before.payload) == (
        after.id,
        after.created_at,
        after.payload,
    )
    if before.status not in TERMINAL:
        return
    assert before.status is not Status.COMPLETED
    redriven = verb in ("redrive", "redrive_many") and after.status is Status.PENDING
    late = verb == "complete" and before.history[-1].outcome is Outcome.EXPIRED
    assert redriven or (late and after.status is Status.COMPLETED)


def check_gone(job: Job, verb: str, now: int) -> None:
    """What is true of a job that is not there any more."""
    assert verb == "upkeep"
    assert job.status in TERMINAL
    assert job.finished_at is not None and job.finished_at < now - RETENTION_SECONDS * SECOND


def check_order(request: Request, reply: Reply, after: Jobs, now: int) -> None:
    """Nothing that is still due goes before what a claim has just given."""
    given = [place(after[job["id"]]) for job in reply.jobs]
    assert given == sorted(given)
    caller = CALLERS[request.key]
    types = request.body.get("types") or [job.type for job in after.values()]
    left = [
        place(job)
        for job in after.values()
        if (job.status, job.type in types) == (Status.PENDING, True)
        if job.run_at <= now and caller.may_use(job.type)
    ]
    assert not given or not left or given[-1] < min(left)


def place(job: Job) -> tuple[int, int, int]:
    """Where a job stands among the due ones."""
    return (-job.priority, job.run_at, job.id)


def check_repeat(request: Request, first: Reply, again: Reply) -> None:
    """What may be repeated is answered as the first time when nothing else has happened."""
    body = request.body
    keyed = request.header is not None or "idempotency_key" in body
    items = body.get("jobs", [])
    safe = {
        "enqueue": keyed,
        "batch": all("idempotency_key" in item for item in items),
        "claim": keyed and bool(first.jobs),
        "redrive_many": False,
        "upkeep": False,
        # It tells its age by the machine's own clock.
        "health": False,
        **dict.fromkeys(("complete", "fail", "release"), "attempt" in body),
    }
    if not safe.get(request.verb, True):
        return
    assert (min(again.status, 200), again.code) == (min(first.status, 200), first.code)
    if first.code is None:
        assert _without_news(again.body) == _without_news(first.body)


def _without_news(body: Any) -> Any:
    if isinstance(body, dict) and "results" in body:
        return [item.get("id") for item in body["results"]]
    return body


class Leases:
    """The leases that workers were told of."""

    def __init__(self) -> None:
        self._until: dict[int, int] = {}

    def check(self, request: Request, reply: Reply, now: int) -> None:
        """No job is given to anybody while a lease on it lasts."""
        match request.verb:
            case "claim" if not reply.replayed:
                for job in reply.jobs:
                    assert self._until.get(job["id"], 0) <= now, "two unexpired leases of one job"
                    self._until[job["id"]] = instant(job["lease_expires_at"])
            case "heartbeat" if reply.status == 200:
                assert request.job_id is not None
                self._until[request.job_id] = instant(reply.body["lease_expires_at"])
            case "complete" | "fail" | "release" | "cancel" if reply.status == 200:
                # A repeat is answered too, and ends no lease that somebody has got since.
                if not reply.replayed and request.job_id is not None:
                    self._until.pop(request.job_id, None)
