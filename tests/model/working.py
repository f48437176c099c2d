"""What workers may do, as the contract tells it: the claim."""

import json
from collections.abc import Mapping
from typing import Any

from tests.model.attempts import settle
from tests.model.calls import Answer, Caller, Job, Refusal, Request, invalid, sent_fields
from tests.model.world import HISTORY_MAX, LEVELS, SECOND, World, shown

SETTLED_PER_TYPE, SETTLED_MAX = 16, 64


def claim(world: World, caller: Caller, request: Request) -> Answer:
    """The best due jobs, or those of an earlier claim with this key that still run."""
    body = sent_fields(request.body)
    types = _types(world, caller, body)
    mark = None
    if request.header is not None:
        mark = (caller.name, request.header, json.dumps(body, sort_keys=True))
    jobs = world.find(lambda job: mark is not None and job["claim"] == mark)
    headers = {"Idempotent-Replayed": "true"} if jobs else {}
    if jobs:
        jobs.sort(key=place)
    else:
        jobs = _claim_afresh(world, types, body.get("limit", 1))
        for job in jobs:
            seconds = body.get("lease_seconds") or world.types[job["type"]].lease_seconds
            _begin(world, job, caller, seconds, mark)
    documents = [shown(job, caller) for job in jobs]
    if "limit" in body:
        wait = _next_due_in_seconds(world, types)
        return Answer(200, {"jobs": documents, "next_due_in_seconds": wait}, headers)
    return Answer(200, documents[0], headers) if documents else Answer(204)


def place(job: Job) -> tuple[int, int, int]:
    """Where a job stands among the due ones."""
    return (-LEVELS[job["priority"]], job["run_at"], job["id"])


def _types(world: World, caller: Caller, body: Mapping[str, Any]) -> list[str]:
    names = body.get("types")
    seconds = body.get("lease_seconds", 1)
    invalid(
        bool(body.keys() - {"types", "lease_seconds", "limit", "worker_id"}),
        names == [],
        not 1 <= seconds <= 43_200,
        not 1 <= body.get("limit", 1) <= 25,
    )
    if names is not None:
        invalid(any(name not in world.types for name in names))
        if not all(caller.may_use(name) for name in names):
            raise Refusal(403, "forbidden")
    types = world.types_of(caller) if names is None else sorted(set(names))
    invalid(seconds > min(world.types[name].max_runtime_seconds for name in types))
    return types


def _claim_afresh(world: World, types: list[str], limit: int) -> list[Job]:
    settled = _settle_some(world, types, SETTLED_MAX)
    while True:
        due = [job for job in world.pending(types) if job["run_at"] <= world.now]
        if due or not settled or settled >= SETTLED_MAX:
            return sorted(due, key=place)[:limit]
        more = _settle_some(world, types, SETTLED_MAX - settled)
        if not more:
            return []
        settled += more


def _settle_some(world: World, types: list[str], most: int) -> int:
    overdue: list[Job] = []
    for name in types:
        ended = [job for job in world.running([name]) if job["lease_expires_at"] <= world.now]
        ended.sort(key=lambda job: (job["lease_expires_at"], job["id"]))
        overdue += ended[:SETTLED_PER_TYPE]
    for job in overdue[:most]:
        settle(world, job)
    return min(len(overdue), most)


def _begin(world: World, job: Job, caller: Caller, seconds: int, mark: Any) -> None:
    attempt = {
        "attempt": job["attempt"] + 1,
        "worker_id": caller.name,
        "claimed_at": world.now,
        "ended_at": None,
        "outcome": None,
        "error_code": None,
        "error": None,
        "report": None,
        "retry_spent": False,
        "closed": False,
    }
    world.write(
        job,
        status="running",
        attempt=attempt["attempt"],
        claimed_at=world.now,
        worker_id=caller.name,
        lease_expires_at=world.now + seconds * SECOND,
        history=[*job["history"], attempt][-HISTORY_MAX:],
        claim=mark,
        redriven_by=None,
    )


def _next_due_in_seconds(world: World, types: list[str]) -> int | None:
    instants = [job["run_at"] for job in world.pending(types)]
    instants += [job["lease_expires_at"] for job in world.running(types)]
    return max(0, -((world.now - min(instants)) // SECOND)) if instants else None
