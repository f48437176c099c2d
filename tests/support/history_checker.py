"""Judges a history, in the way of Jepsen's total queue: sets that must be empty, and figures."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from queuelog_core.client import Job
from queuelog_core.job import PRIORITIES
from tests.support import history_attempts as attempts
from tests.support import history_jobs as jobs
from tests.support.history import OK, Call, History
from tests.support.history_evidence import End, Evidence, Grant, milliseconds

Order = tuple[int, int, int]


class _Waiting(NamedTuple):
    """A job that could have been claimed from when its producer knew of it until `taken_at`, an
    instant of the store's clock or of the callers'."""

    taken_at: int
    known_at: int
    order: Order
    job: Job


def inversions(evidence: Evidence) -> Iterator[str]:
    """Claims that passed over a better job, which its producer knew to be there before the claim
    was sent, and which was claimed for the first time only later.

    Of a store in which claims do not wait for each other a better job is one of a higher priority,
    and later means by a call that was made when this one had been answered.
    """
    waiting = sorted(_waiting(evidence))
    for grant, call in evidence.grants:
        if call.asked["again"]:
            continue  # its answer is that of an earlier call
        got = _order(evidence, grant.priority, grant.run_at, grant.job)
        since = grant.claimed_at if evidence.in_order else call.ended_at or 0
        first = bisect_right(waiting, since, key=lambda each: each.taken_at)
        for better in waiting[first:]:
            if better.order < got and better.known_at < call.invoked_at:
                yield f"{call.life} got {grant} before {better.job}"


def _waiting(evidence: Evidence) -> Iterator[_Waiting]:
    known = {job_id: call.ended_at or 0 for _, job_id, call in reversed(evidence.acknowledged)}
    for job, history in evidence.ends.values():
        asked = evidence.asked.get((job.producer_id, str(job.idempotency_key)), {})
        is_plain = "delay_seconds" not in asked and job.id not in evidence.cancels
        if job.id in known and is_plain and history and history[0].attempt == 1:
            order = _order(evidence, job.priority, milliseconds(job.created_at), job.id)
            for taken_at in _first_taken(evidence, job.id, milliseconds(history[0].claimed_at)):
                yield _Waiting(taken_at, known[job.id], order, job)


def _first_taken(evidence: Evidence, job_id: int, claimed_at: int) -> Sequence[int]:
    """When a job was claimed for the first time; nothing if that is not known."""
    if evidence.in_order:
        return [claimed_at]
    return sorted(call.invoked_at for call in evidence.holders.get((job_id, 1), []))[:1]


def _order(evidence: Evidence, priority: str, run_at: int, job_id: int) -> Order:
    place = (run_at, job_id) if evidence.in_order else (0, 0)
    return -PRIORITIES[priority].value, *place


SETS: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "lost": jobs.lost,
    "unexpected": jobs.unexpected,
    "stuck": jobs.stuck,
    "key duplicates": jobs.key_duplicates,
    "odd answers": jobs.odd_answers,
    "wrongly refused": jobs.wrongly_refused,
    "double claims": attempts.double_claims,
    "forgotten": attempts.forgotten,
    "stale reports": attempts.stale,
    "completed twice": attempts.completed_twice,
    "reported twice": attempts.reported_twice,
    "leases taken early": attempts.taken_early,
    "unexplained": attempts.unexplained,
    "inversions": inversions,
}


def check(
    calls: Sequence[Call], ends: Sequence[End], *, in_order: bool = True
) -> Mapping[str, list[str]]:
    """The sets that are not empty, each with its cases in words. Nothing: every promise held."""
    evidence = Evidence(calls, ends, in_order=in_order)
    found = {name: list(find(evidence)) for name, find in SETS.items()}
    return {name: cases for name, cases in found.items() if cases}


def figures(history: History, ends: Sequence[End]) -> dict[str, int]:
    """How much was done, and how often the kills left somebody in doubt."""
    evidence = Evidence(history.calls, ends)
    known = [job_id for _, job_id, _ in evidence.acknowledged]
    outcomes = [attempt.outcome for end in ends for attempt in end.attempts]
    return {
        "acknowledged": len(set(known)),
        "duplicates acknowledged": len(known) - len(set(known)),
        "recovered": len(set(evidence.ends) - set(known)),
        "replays": sum(each.replayed for each in history.tries),
        "claims": len(evidence.grants),
        "reports": sum(1 for _ in evidence.done("complete", "fail", "release", "heartbeat")),
        "refusals": sum(call.outcome not in (OK, "unknown") for call in history.calls),
        "completed": sum(end.job.status == "completed" for end in ends),
        "failed": sum(end.job.status == "failed" for end in ends),
        "cancelled": sum(end.job.status == "cancelled" for end in ends),
        "expiries": outcomes.count("expired"),
    }


__all__ = ["SETS", "Grant", "check", "figures"]
