"""The state machine: pure, without I/O and without a clock, and nowhere else.

            enqueue            claim                    complete
  (none) ───────────▶ pending ───────▶ running ─────────────────▶ completed
                       ▲   ▲             │ │ └ fail, expire: no retries left ─▶ failed
                       │   └ fail, expire┘ └── cancel asked, then fail, expire,
                       │     release           release ─▶ cancelled
                       └── redrive from failed, cancelled

A transition takes a job, the clock's time and the facts, and returns the next job, the same
object when nothing changes, or raises a Conflict. Stores apply it; they never choose one.
Instants, delays and leases are milliseconds.
"""

from typing import Any

from queuelog_core.errors import Conflict, DeadlineExceeded
from queuelog_core.job import (
    LEASE_EXPIRED,
    PAYLOAD_LOST,
    RELEASE_LIMIT,
    Attempt,
    Job,
    Outcome,
    Status,
)
from queuelog_core.reports import Report, Verdict, judge

HISTORY_MAX = 10
RELEASES_FREE_MAX = 20
CLOCK_AHEAD_MAX = 300_000


def claim(job: Job, now: int, worker_id: str, lease: int, claim_key: bytes | None = None) -> Job:
    """Give the job to a worker; the next attempt begins, under the key of the claim, if any."""
    if job.status is not Status.PENDING or job.run_at > now:
        raise Conflict("The job is not due.")
    at = _instant(job, now)
    entry = Attempt(attempt=job.attempt + 1, worker_id=worker_id, claimed_at=at)
    return job._replace(
        status=Status.RUNNING,
        attempt=entry.attempt,
        claimed_at=at,
        worker_id=worker_id,
        lease_expires_at=at + lease,
        redriven_by=None,
        claim_key=claim_key,
        updated_at=at,
        history=(*job.history, entry)[-HISTORY_MAX:],
        version=job.version + 1,
    )


def complete(job: Job, now: int, report: Report, result: str | None) -> Job:
    """Record the work as done; also late, when the lease ran out but nobody took the job since."""
    verdict = judge(job, report)
    if verdict is Verdict.REPLAY:
        return job
    at = _instant(job, now)
    entry = job.history[-1]
    # The expiry spent a retry on work that turns out to be done.
    returned = verdict is Verdict.LATE and entry.retry_spent
    return _finish(
        job,
        at,
        Status.COMPLETED,
        _ended(entry, at, Outcome.COMPLETED, report=report.digest),
        retry_count=job.retry_count - returned,
        claimed_at=entry.claimed_at,
        worker_id=entry.worker_id,
        result=result,
        **_error(None, None, None),
    )


def fail(
    job: Job,
    now: int,
    report: Report,
    *,
    delay: int,
    error: str | None = None,
    error_code: str | None = None,
    retryable: bool = True,
) -> Job:
    """Record a failure: pending again after `delay` (0 keeps its age), or failed for good."""
    if judge(job, report) is Verdict.REPLAY:
        return job
    at = _instant(job, now)
    entry = _ended(job.history[-1], at, Outcome.FAILED, error_code, report.digest)
    told = _error(error, error_code, job.attempt)
    return _retry_or_end(job, at, entry, at + delay if delay else job.run_at, told, retryable)


def expire(job: Job, now: int, delay: int) -> Job:
    """Settle a lease that ran out: a failed attempt that nobody reported."""
    lease_end = job.lease_expires_at
    if job.status is not Status.RUNNING or lease_end is None or lease_end > now:
        raise Conflict("The lease has not run out.")
    at = _instant(job, now)
    entry = _ended(job.history[-1], at, Outcome.EXPIRED, LEASE_EXPIRED)
    return _retry_or_end(job, at, entry, lease_end + delay, _error(None, LEASE_EXPIRED, None))


def lose(job: Job, now: int, attempt: int) -> Job:
    """End a job whose payload is not there any more: no other attempt would find it."""
    if job.status is not Status.RUNNING or job.attempt != attempt:
        raise Conflict("The attempt is over.")
    at = _instant(job, now)
    entry = _ended(job.history[-1], at, Outcome.FAILED, PAYLOAD_LOST)
    return _retry_or_end(job, at, entry, job.run_at, _error(None, PAYLOAD_LOST, None), False)


def heartbeat(job: Job, now: int, report: Report, extend: int, runtime_max: int) -> Job:
    """Extend the lease, at most to `runtime_max` after the claim."""
    judge(job, report)
    at = _instant(job, now)
    assert job.claimed_at is not None and job.lease_expires_at is not None
    ceiling = job.claimed_at + runtime_max
    if at >= ceiling:
        raise DeadlineExceeded("The job has had its longest run time; stop working on it.")
    lease_end = max(job.lease_expires_at, min(at + extend, ceiling))
    if lease_end == job.lease_expires_at:
        # A repeat within the same millisecond, or at the ceiling, costs no write.
        return job
    return job._replace(lease_expires_at=lease_end, updated_at=at, version=job.version + 1)


def release(job: Job, now: int, report: Report, *, delay: int, backoff: int) -> Job:
    """Hand the job back without spending a retry; from the twenty-first time on it is a failure."""
    if judge(job, report) is Verdict.REPLAY:
        return job
    at = _instant(job, now)
    entry = job.history[-1]
    cancelled = job.cancel_requested_at is not None
    if not cancelled and job.release_count >= RELEASES_FREE_MAX:
        limited = _ended(entry, at, Outcome.FAILED, RELEASE_LIMIT, report.digest)
        wait = max(delay, backoff)
        run_at = at + wait if wait else job.run_at
        return _retry_or_end(job, at, limited, run_at, _error(None, RELEASE_LIMIT, None))
    released = _ended(entry, at, Outcome.RELEASED, report=report.digest)
    count = job.release_count + 1
    if cancelled:
        return _finish(job, at, Status.CANCELLED, released, release_count=count)
    return _pend(job, at, released, at + delay if delay else job.run_at, release_count=count)


def cancel(job: Job, now: int) -> Job:
    """Cancel a pending job, ask a running one to stop, settle one whose lease has run out."""
    at = _instant(job, now)
    match job.status:
        case Status.PENDING:
            return _finish(job, at, Status.CANCELLED)
        case Status.RUNNING:
            assert job.lease_expires_at is not None
            asked = job._replace(cancel_requested_at=job.cancel_requested_at or at)
            if job.lease_expires_at <= now:
                # Nobody is there to be asked; waiting for a claim to settle it helps no one.
                return expire(asked, now, 0)
            return job if asked == job else asked._replace(updated_at=at, version=job.version + 1)
        case Status.CANCELLED:
            return job
        case Status.COMPLETED | Status.FAILED:
            raise Conflict("The job has already ended.")


def redrive(job: Job, now: int, admin: str) -> Job:
    """Send a failed or cancelled job back to pending, its budget fresh, its last attempt void."""
    if job.status is Status.PENDING and job.redriven_by == admin:
        return job
    if job.status not in (Status.FAILED, Status.CANCELLED):
        raise Conflict("Only a failed or cancelled job can be redriven.")
    return _pend(
        job,
        _instant(job, now),
        # Whoever ran it before must not complete what an admin has sent on its way again.
        job.history[-1]._replace(closed=True) if job.history else None,
        now,
        retry_count=0,
        release_count=0,
        finished_at=None,
        result=None,
        cancel_requested_at=None,
        redriven_by=admin,
    )


def came_late(before: Job, after: Job) -> bool:
    """Whether `after` records a report that arrived when the lease had already run out."""
    if before.status is not Status.RUNNING:
        return after.status is Status.COMPLETED and before.status is not Status.COMPLETED
    assert before.lease_expires_at is not None
    reported = after.history[-1].outcome is not Outcome.EXPIRED
    return reported and after.updated_at >= before.lease_expires_at


def _instant(job: Job, now: int) -> int:
    """Times inside a job never run backwards, whichever host wrote them."""
    return max(now, job.updated_at) if job.updated_at - now <= CLOCK_AHEAD_MAX else now


def _ended(
    entry: Attempt,
    at: int,
    outcome: Outcome,
    error_code: str | None = None,
    report: str | None = None,
) -> Attempt:
    return entry._replace(ended_at=at, outcome=outcome, error_code=error_code, report=report)


def _error(error: str | None, code: str | None, attempt: int | None) -> dict[str, Any]:
    return {
        "error": error,
        "error_code": code,
        "error_attempt": None if error is None else attempt,
    }


def _retry_or_end(
    job: Job, at: int, entry: Attempt, run_at: int, told: dict[str, Any], retryable: bool = True
) -> Job:
    if job.cancel_requested_at is not None:
        return _finish(job, at, Status.CANCELLED, entry, **told)
    if not retryable or job.retry_count >= job.max_retries:
        return _finish(job, at, Status.FAILED, entry, **told)
    spent = entry._replace(retry_spent=True)
    return _pend(job, at, spent, run_at, retry_count=job.retry_count + 1, **told)


def _pend(job: Job, at: int, entry: Attempt | None, run_at: int, **changes: Any) -> Job:
    free: dict[str, Any] = {"run_at": run_at, "claimed_at": None, "worker_id": None}
    return _leave(job, at, entry, status=Status.PENDING, **free, **changes)


def _finish(job: Job, at: int, status: Status, entry: Attempt | None = None, **changes: Any) -> Job:
    return _leave(job, at, entry, status=status, finished_at=at, **changes)


def _leave(job: Job, at: int, entry: Attempt | None, **changes: Any) -> Job:
    """Not running any more: the lease is gone and the newest attempt is as given."""
    return job._replace(
        lease_expires_at=None,
        claim_key=None,
        updated_at=at,
        history=(*job.history[:-1], entry) if entry else job.history,
        version=job.version + 1,
        **changes,
    )
