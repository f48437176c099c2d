"""What a history may show of attempts that it should not: each a function of the evidence, which
tells every case in words."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.support.history import Call
from tests.support.history_evidence import (
    ENDING,
    End,
    Evidence,
    Hold,
    milliseconds,
)

OUTCOMES = {
    "claim": ("completed", "failed", "expired", "released", None),
    "complete": ("completed",),
    "fail": ("failed",),
    # The twenty-first is a failure.
    "release": ("released", "failed"),
}


def double_claims(evidence: Evidence) -> Iterator[str]:
    """Attempts that were given to two callers. A claim that is sent again is the same caller."""
    for (job_id, attempt), calls in evidence.holders.items():
        callers = {(call.identity, call.asked["key"]) for call in calls}
        if len(callers) > 1:
            lives = sorted(call.life for call in calls)
            yield f"attempt {attempt} of job {job_id} was given to {', '.join(lives)}"


def forgotten(evidence: Evidence) -> Iterator[str]:
    """Claims and reports that were acknowledged and that the job knows nothing of."""
    said = [(hold, call) for hold, calls in evidence.holders.items() for call in calls]
    for hold, call in [*said, *evidence.done(*ENDING)]:
        found = evidence.attempt(hold)
        if hold[0] not in evidence.ends or evidence.is_dropped(hold):
            continue
        if found is None or found.outcome not in OUTCOMES[call.verb]:
            yield f"{call.verb} by {call.life} of attempt {hold[1]}: {evidence.ends[hold[0]]}"


def stale(evidence: Evidence) -> Iterator[str]:
    """Reports that were acknowledged for an attempt of another, or for one that was over."""
    claimed = defaultdict(list)
    for grant, call in evidence.grants:
        claimed[grant.job].append((grant.attempt, call.ended_at or 0))
    for (job_id, attempt), call in evidence.done(*ENDING, "heartbeat"):
        holder = evidence.attempt((job_id, attempt))
        if holder is not None and holder.worker_id != call.identity:
            yield f"{call.life} reported on attempt {attempt} of {holder.worker_id}: {call}"
        for later, known_at in claimed[job_id]:
            if later > attempt and known_at < call.invoked_at:
                yield f"{call.life} reported when attempt {later} was given out: {call}"


def completed_twice(evidence: Evidence) -> Iterator[str]:
    """Jobs of which two completions were acknowledged, a repeat of the same one not counted."""
    by_job = defaultdict(list)
    for (job_id, _), call in evidence.done("complete"):
        by_job[job_id].append(call)
    for job_id, calls in by_job.items():
        if not _is_one_report(calls):
            yield f"job {job_id}: {calls}"


def reported_twice(evidence: Evidence) -> Iterator[str]:
    """Attempts that two different reports ended."""
    ended = defaultdict(list)
    for hold, call in evidence.done(*ENDING):
        ended[hold].append(call)
    for (job_id, attempt), calls in ended.items():
        if not _is_one_report(calls):
            yield f"attempt {attempt} of job {job_id}: {calls}"


def _is_one_report(calls: Sequence[Call]) -> bool:
    """Whether these are one report, perhaps sent again, and the answers say so."""
    contents = [(call.identity, call.verb, call.asked) for call in calls]
    afresh = sum(not call.replayed for call in calls)
    return afresh <= 1 and all(content == contents[0] for content in contents)


def taken_early(evidence: Evidence) -> Iterator[str]:
    """Leases that were settled before the end that their holder was told."""
    leases: dict[Hold, int] = {}
    for grant, _ in evidence.grants:
        leases[grant.job, grant.attempt] = grant.lease_expires_at
    for hold, call in evidence.done("heartbeat"):
        leases[hold] = max(leases.get(hold, 0), call.told["lease_expires_at"])
    for hold, lease_expires_at in leases.items():
        found = evidence.attempt(hold)
        if found is None or found.outcome != "expired":
            continue
        if found.ended_at is None or milliseconds(found.ended_at) < lease_expires_at:
            yield f"attempt {hold[1]} of job {hold[0]}, {lease_expires_at} was told: {found}"


def unexplained(evidence: Evidence) -> Iterator[str]:
    """Jobs whose fields and histories contradict each other."""
    for end in evidence.ends.values():
        for what, is_right in _rules(end).items():
            if not is_right:
                yield f"{what}: {end}"


def _rules(end: End) -> dict[str, bool]:
    job, attempts = end
    outcomes = [each.outcome for each in attempts]
    times = [at for each in attempts for at in (each.claimed_at, each.ended_at) if at]
    numbers = [each.attempt for each in attempts]
    spent = sum(outcome in ("failed", "expired") for outcome in outcomes)
    whole = not attempts or numbers[0] == 1
    last = outcomes[-1] if outcomes else None
    is_completed = job.status == "completed"
    return {
        "attempts are counted": numbers == [*range(job.attempt + 1)][-len(numbers) :]
        if numbers
        else job.attempt == 0,
        "one attempt at a time": times == sorted(times) and None not in outcomes[:-1],
        "completed once, at last": outcomes.count("completed") == is_completed
        and (last == "completed") == is_completed,
        "a failed job has failed": job.status != "failed" or last in ("failed", "expired"),
        "the budget holds": 0 <= job.retry_count <= job.max_retries,
        "retries are counted": not (is_completed and whole) or job.retry_count == spent,
    }
