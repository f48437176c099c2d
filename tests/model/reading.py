"""What changes nothing, and the upkeep, as the contract tells it."""

from collections.abc import Mapping
from typing import Any

from tests.model.attempts import settle
from tests.model.calls import Answer, Caller, Job, Request, invalid
from tests.model.world import (
    ATTEMPT_FIELDS,
    LEVELS,
    SECOND,
    TERMINAL,
    TIMES,
    World,
    created_between,
    shown,
    text,
)

STATUSES = ("pending", "running", *TERMINAL)
EQUAL = ("status", "type", "priority", "producer_id", "worker_id")


def get(world: World, caller: Caller, request: Request) -> Answer:
    """One job."""
    return Answer(200, shown(world.visible(caller, request.job_id), caller))


def attempts(world: World, caller: Caller, request: Request) -> Answer:
    """The newest ten attempts of a job; their texts are for admins."""
    job = world.visible(caller, request.job_id)
    hidden = set() if caller.role == "admin" else {"error"}
    told = [
        {
            name: None
            if name in hidden
            else text(a[name])
            if name in (*TIMES, "ended_at")
            else a[name]
            for name in ATTEMPT_FIELDS
        }
        for a in job["history"]
    ]
    return Answer(200, {"attempts": told, "dropped": job["attempt"] - len(told)})


def list_jobs(world: World, caller: Caller, request: Request) -> Answer:
    """All that the filter means and the caller may see, as if it were one page."""
    query = request.body
    invalid(query.get("type") is not None and query["type"] not in world.types)
    jobs = world.find(lambda job: caller.sees(job) and _means(query, job))
    newest_first = query.get("order", "desc") == "desc"
    jobs.sort(key=lambda job: (job["created_at"], job["id"]), reverse=newest_first)
    return Answer(200, {"jobs": [shown(job, caller) for job in jobs]})


def stats(world: World, caller: Caller, request: Request) -> Answer:
    """Numbers for the types that the caller may see."""
    types = world.types_of(caller)
    pending, now = world.pending(types), world.now
    due = [job for job in pending if job["run_at"] <= now]
    overdue = [job for job in world.running(types) if job["lease_expires_at"] <= now]
    return Answer(
        200,
        {
            "as_of": text(now),
            "types": {name: _statuses(world, name) for name in types},
            "due": _count(due),
            "delayed": _count([job for job in pending if job["run_at"] > now]),
            "expired_leases": _count(overdue),
            "oldest_due_age_seconds": {label: _age(due, label, now) for label in LEVELS},
            "late_reports": sum(world.late_reports[name] for name in types),
        },
    )


def health(world: World, caller: Caller, request: Request) -> Answer:
    """The store takes writes."""
    return Answer(200, {"status": "ok"})


def upkeep(world: World, caller: Caller, request: Request) -> Answer:
    """Every lease that ran out is settled, and what finished before the retention is deleted."""
    overdue = [job for job in world.running(world.types) if job["lease_expires_at"] <= world.now]
    for job in overdue:
        settle(world, job)
    before = world.now - request.body["retention_seconds"] * SECOND
    old = world.find(lambda job: job["status"] in TERMINAL and job["finished_at"] < before)
    for job in old:
        del world.jobs[job["id"]]
        world.changed.add(job["id"])
    return Answer(200, {"recovered": len(overdue), "purged": len(old)})


def _means(query: Mapping[str, Any], job: Job) -> bool:
    same = all(job[name] == query[name] for name in EQUAL if name in query)
    return same and created_between(query, job)


def _statuses(world: World, job_type: str) -> dict[str, int]:
    of_type = world.find(lambda job: job["type"] == job_type)
    return {status: sum(job["status"] == status for job in of_type) for status in STATUSES}


def _count(jobs: list[Job]) -> dict[str, Any]:
    return {"count": len(jobs), "capped": False}


def _age(due: list[Job], label: str, now: int) -> float | None:
    ages = [now - job["run_at"] for job in due if job["priority"] == label]
    return max(ages) / SECOND if ages else None
