"""What a history may show of jobs that it should not: each a function of the evidence, which tells
every case in words."""

from collections import defaultdict
from collections.abc import Iterator

from tests.support.history import REFUSED, UNKNOWN, Call
from tests.support.history_evidence import End, Evidence

EXPECTED_REFUSALS = ("conflict", "not-owner", "lease-lost", "already-reported")
ASKED_FIELDS = ("type", "payload", "priority", "max_retries")


def lost(evidence: Evidence) -> Iterator[str]:
    """Jobs that were acknowledged and are not there."""
    for (producer, key), job_id, call in evidence.acknowledged:
        end = evidence.ends.get(job_id)
        if end is None:
            yield f"job {job_id}, told to {call.life} for the key {key}, is gone"
        elif (end.job.producer_id, end.job.idempotency_key) != (producer, key):
            yield f"job {job_id}, told to {call.life} for the key {key}, is another one: {end.job}"


def unexpected(evidence: Evidence) -> Iterator[str]:
    """Jobs, results and cancellations that nobody asked for."""
    for end in evidence.ends.values():
        job = end.job
        asked = evidence.asked.get((job.producer_id, str(job.idempotency_key)))
        if asked is None:
            yield f"nobody asked for {job}"
            continue
        for name in ASKED_FIELDS:
            if getattr(job, name) != asked[name]:
                yield f"job {job.id} was asked for with {name} {asked[name]}: {job}"
        if job.status == "completed" and not _has_asked_result(evidence, end):
            yield f"job {job.id} has a result that nobody sent in attempt {job.attempt}: {job}"
        if job.status == "cancelled" and job.id not in evidence.cancels:
            yield f"nobody cancelled {job}"


def _has_asked_result(evidence: Evidence, end: End) -> bool:
    reports = evidence.reports[end.job.id, end.job.attempt]
    return any(
        call.verb == "complete" and call.asked["result"] == end.job.result for call in reports
    )


def stuck(evidence: Evidence) -> Iterator[str]:
    """Jobs that have not ended although everybody had time."""
    for end in evidence.ends.values():
        if not end.job.is_finished:
            yield str(end.job)


def key_duplicates(evidence: Evidence) -> Iterator[str]:
    """Keys that made more than one job."""
    ids = defaultdict(set)
    for key, job_id, _ in evidence.acknowledged:
        ids[key].add(job_id)
    for job_id, end in evidence.ends.items():
        ids[end.job.producer_id, str(end.job.idempotency_key)].add(job_id)
    for (producer, name), made in ids.items():
        if len(made) > 1:
            yield f"the key {name} of {producer} made the jobs {sorted(made)}"


def odd_answers(evidence: Evidence) -> Iterator[str]:
    """Answers that these calls should never get."""
    for call in evidence.calls:
        code, status = call.told.get("code"), call.told.get("status")
        if call.outcome == REFUSED and code not in EXPECTED_REFUSALS:
            yield f"{call.verb} of {call.life} was refused as {code}: {call}"
        elif call.outcome == UNKNOWN and status not in (None, 503):
            yield f"{call.verb} of {call.life} ended in {status}: {call}"


def wrongly_refused(evidence: Evidence) -> Iterator[str]:
    """Completions refused although the attempt was still the last one and not yet reported on."""
    for (job_id, attempt), calls in evidence.reports.items():
        end = evidence.ends.get(job_id)
        if end is None or end.job.attempt != attempt:
            continue
        for call in calls:
            if call.verb == "complete" and call.outcome == REFUSED and not _is_odd(call, calls):
                yield f"{call.life} was refused its completion: {call}, {end}"


def _is_odd(call: Call, calls: list[Call]) -> bool:
    """Whether the caller knew better, or somebody may have ended this attempt before."""
    return call.asked["odd"] or any(
        other is not call and other.verb != "heartbeat" and not other.asked["odd"]
        for other in calls
    )
