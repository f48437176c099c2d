"""How an attempt ends, as the contract tells it: the four reports, and the end of the lease."""

from typing import Any

from tests.model.calls import Answer, Caller, Job, Refusal, Request, invalid, sent_fields
from tests.model.world import SECOND, World, shown, text

RELEASES_FREE = 20
ERROR_BYTES_MAX = 1024
RESERVED = ("lease_expired", "release_limit", "payload_lost")


def complete(world: World, caller: Caller, request: Request) -> Answer:
    """The work is done; also late, unless somebody has taken the job since."""
    body = _body(request, "result")
    job, verdict = _judge(world, caller, request, ("complete", body.get("result")))
    if verdict == "replay":
        return _replayed(job, caller)
    attempt = job["history"][-1]
    if verdict == "late" or job["lease_expires_at"] <= world.now:
        world.late_reports[job["type"]] += 1
    _end(world, attempt, "completed", report=("complete", body.get("result")))
    world.write(
        job,
        status="completed",
        result=body.get("result"),
        error=None,
        error_code=None,
        finished_at=world.now,
        retry_count=job["retry_count"] - (verdict == "late" and attempt["retry_spent"]),
        claimed_at=attempt["claimed_at"],
        worker_id=attempt["worker_id"],
        lease_expires_at=None,
        claim=None,
    )
    return Answer(200, shown(job, caller))


def fail(world: World, caller: Caller, request: Request) -> Answer:
    """A failure: pending again while retries are left."""
    body = _body(request, "error", "error_code", "retryable", "retry_in_seconds")
    retryable = body.get("retryable", True)
    seconds = body.get("retry_in_seconds")
    invalid(
        body.get("error_code") in RESERVED,
        seconds is not None and not (retryable and 0 <= seconds <= 86_400),
    )
    error, code = _stored(body.get("error")), body.get("error_code")
    report = ("fail", error, code, retryable, seconds)
    job, verdict = _judge(world, caller, request, report)
    if verdict == "replay":
        return _replayed(job, caller)
    _count_if_late(world, job)
    wait = _backoff(world, job) if seconds is None else seconds * SECOND
    attempt = _end(world, job["history"][-1], "failed", code, error, report)
    _retry(world, job, attempt, world.now + wait if wait else job["run_at"], retryable)
    return Answer(200, shown(job, caller))


def heartbeat(world: World, caller: Caller, request: Request) -> Answer:
    """A longer lease, never beyond the longest run of the type."""
    body = _body(request, "extend_seconds")
    invalid(not 1 <= body.get("extend_seconds", 1) <= 43_200)
    job, _ = _judge(world, caller, request, ("heartbeat",))
    rules = world.types[job["type"]]
    last = job["claimed_at"] + rules.max_runtime_seconds * SECOND
    if world.now >= last:
        raise Refusal(409, "deadline-exceeded")
    asked = world.now + (body.get("extend_seconds") or rules.lease_seconds) * SECOND
    lease = max(job["lease_expires_at"], min(asked, last))
    if lease != job["lease_expires_at"]:
        _count_if_late(world, job)
        world.write(job, lease_expires_at=lease)
    return Answer(
        200,
        {
            "lease_expires_at": text(lease),
            "lease_seconds_remaining": max(0, lease - world.now) // SECOND,
            "cancel_requested": job["cancel_requested_at"] is not None,
        },
    )


def release(world: World, caller: Caller, request: Request) -> Answer:
    """Given back: twenty times for nothing, then it is a failure."""
    body = _body(request, "delay_seconds")
    invalid(not 0 <= body.get("delay_seconds", 0) <= 86_400)
    report = ("release", body.get("delay_seconds"))
    job, verdict = _judge(world, caller, request, report)
    if verdict == "replay":
        return _replayed(job, caller)
    _count_if_late(world, job)
    attempt, delay = job["history"][-1], body.get("delay_seconds", 0) * SECOND
    if job["cancel_requested_at"] is None and job["release_count"] >= RELEASES_FREE:
        _end(world, attempt, "failed", "release_limit", report=report)
        wait = max(delay, _backoff(world, job))
        _retry(world, job, attempt, world.now + wait if wait else job["run_at"])
        return Answer(200, shown(job, caller))
    _end(world, attempt, "released", report=report)
    job["release_count"] += 1
    if job["cancel_requested_at"] is not None:
        finish(world, job, "cancelled")
    else:
        _pend(world, job, world.now + delay if delay else job["run_at"])
    return Answer(200, shown(job, caller))


def settle(world: World, job: Job) -> None:
    """The lease has run out: a failed attempt that nobody reported."""
    attempt = _end(world, job["history"][-1], "expired", "lease_expired")
    _retry(world, job, attempt, job["lease_expires_at"] + _backoff(world, job))


def finish(world: World, job: Job, status: str) -> None:
    """The end of a job that is not completed."""
    world.write(job, status=status, finished_at=world.now, lease_expires_at=None, claim=None)


def _body(request: Request, *names: str) -> dict[str, Any]:
    body = sent_fields(request.body)
    invalid(bool(body.keys() - {"attempt", *names}), body.get("attempt", 1) < 1)
    return body


def _judge(world: World, caller: Caller, request: Request, report: Any) -> tuple[Job, str]:
    """The contract's table of reports: the first row that fits."""
    attempt = request.body.get("attempt")
    job = world.seen(caller, request.job_id)
    if job is None:
        raise Refusal(409, "conflict")
    held = [a for a in job["history"] if (a["attempt"], a["worker_id"]) == (attempt, caller.name)]
    if held and held[0]["report"]:
        if held[0]["report"] == report:
            return job, "replay"
        raise Refusal(409, "already-reported")
    if job["status"] == "running":
        if attempt not in (None, job["attempt"]):
            world.late_reports[job["type"]] += len(held)
            raise Refusal(409, "lease-lost")
        if job["worker_id"] != caller.name:
            raise Refusal(409, "not-owner")
        return job, "apply"
    last = job["history"][-1] if job["history"] else None
    if held and held[0] is last and last["outcome"] == "expired" and not last["closed"]:
        if request.verb == "complete":
            return job, "late"
        world.late_reports[job["type"]] += 1
        raise Refusal(409, "lease-lost")
    raise Refusal(409, "conflict")


def _replayed(job: Job, caller: Caller) -> Answer:
    return Answer(200, shown(job, caller), {"Idempotent-Replayed": "true"})


def _count_if_late(world: World, job: Job) -> None:
    if job["lease_expires_at"] <= world.now:
        world.late_reports[job["type"]] += 1


def _stored(error: str | None) -> str | None:
    if error is None:
        return None
    cut = error.replace("\0", "\ufffd").encode()[:ERROR_BYTES_MAX]
    return cut.decode(errors="ignore")


def _backoff(world: World, job: Job) -> int:
    return world.types[job["type"]].wait(job["retry_count"] + 1)


def _end(
    world: World,
    attempt: dict[str, Any],
    outcome: str,
    code: str | None = None,
    error: str | None = None,
    report: Any = None,
) -> dict[str, Any]:
    attempt.update(ended_at=world.now, outcome=outcome, error_code=code, error=error, report=report)
    return attempt


def _retry(
    world: World, job: Job, attempt: dict[str, Any], run_at: int, retryable: bool = True
) -> None:
    """After a failed attempt: cancelled if that was asked, failed for good, or pending again."""
    job.update(error=attempt["error"], error_code=attempt["error_code"])
    if job["cancel_requested_at"] is not None:
        finish(world, job, "cancelled")
    elif not retryable or job["retry_count"] == job["max_retries"]:
        finish(world, job, "failed")
    else:
        attempt["retry_spent"] = True
        job["retry_count"] += 1
        _pend(world, job, run_at)


def _pend(world: World, job: Job, run_at: int) -> None:
    free = {"claimed_at": None, "worker_id": None, "lease_expires_at": None, "claim": None}
    world.write(job, status="pending", run_at=run_at, **free)
