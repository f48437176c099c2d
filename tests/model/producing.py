"""What producers and admins may do, as the contract tells it."""

import json
from collections.abc import Mapping
from typing import Any

from tests.model.attempts import finish, settle
from tests.model.calls import Answer, Caller, Job, Refusal, Request, invalid, sent_fields
from tests.model.world import LEVELS, SECOND, YEAR_SECONDS, World, created_between, instant, shown

FINGERPRINT = ("type", "payload", "priority", "max_retries", "run_at", "delay_seconds")
REPLAYED = {"Idempotent-Replayed": "true"}


def enqueue(world: World, caller: Caller, request: Request) -> Answer:
    """A new job, or the one that the key names."""
    body, header = sent_fields(request.body), request.header
    _check(body)
    key = body.get("idempotency_key")
    invalid(header is not None and key not in (None, header))
    job, created, mismatch = _admit(world, caller, body, header or key)
    if mismatch and header is not None:
        raise Refusal(422, "idempotency-key-reused")
    headers = {"Location": f"/jobs/{job['id']}"}
    headers |= {} if created else REPLAYED
    headers |= {"Idempotency-Payload-Mismatch": "true"} if mismatch else {}
    return Answer(201 if created else 200, shown(job, caller), headers)


def batch(world: World, caller: Caller, request: Request) -> Answer:
    """Each item as if alone."""
    items = request.body["jobs"]
    invalid(not 1 <= len(items) <= 100, request.header is not None)
    results = [_result(world, caller, index, item) for index, item in enumerate(items)]
    return Answer(200, {"results": results})


def cancel(world: World, caller: Caller, request: Request) -> Answer:
    """A pending job ends, a running one is asked."""
    job = world.visible(caller, request.job_id)
    match job["status"]:
        case "completed" | "failed":
            raise Refusal(409, "conflict")
        case "cancelled":
            return Answer(200, shown(job, caller), REPLAYED)
        case "pending":
            finish(world, job, "cancelled")
            return Answer(200, shown(job, caller))
    asked = job["cancel_requested_at"]
    if job["lease_expires_at"] <= world.now:
        job["cancel_requested_at"] = asked or world.now
        settle(world, job)
        return Answer(200, shown(job, caller))
    if asked is None:
        world.write(job, cancel_requested_at=world.now)
    return Answer(202, shown(job, caller), {} if asked is None else REPLAYED)


def redrive(world: World, caller: Caller, request: Request) -> Answer:
    """A dead job is on its way again."""
    job = world.visible(caller, request.job_id)
    if job["status"] == "pending" and job["redriven_by"] == caller.name:
        return Answer(200, shown(job, caller), REPLAYED)
    if job["status"] not in ("failed", "cancelled"):
        raise Refusal(409, "conflict")
    _redrive(world, job, caller)
    return Answer(200, shown(job, caller))


def redrive_many(world: World, caller: Caller, request: Request) -> Answer:
    """The oldest dead jobs that a filter means."""
    body = sent_fields(request.body)
    where, limit = sent_fields(body.get("filter", {})), body.get("limit", 200)
    invalid(
        not 1 <= limit <= 200,
        bool(where) and where.get("status") not in ("failed", "cancelled"),
        not where and not body.get("all", False),
    )
    invalid("type" in where and where["type"] not in world.types)
    meant = world.find(lambda job: job["status"] in ("failed", "cancelled") and _means(where, job))
    meant.sort(key=lambda job: (job["created_at"], job["id"]))
    chosen = meant[:limit]
    redriven = [] if body.get("dry_run", False) else chosen
    for job in redriven:
        _redrive(world, job, caller)
    return Answer(
        200,
        {"matched": len(chosen), "redriven": len(redriven), "more": len(meant) > limit},
    )


def _check(body: Mapping[str, Any]) -> None:
    invalid(
        bool(body.keys() - {*FINGERPRINT, "idempotency_key"}),
        "type" not in body,
        body.get("priority", "low").lower() not in LEVELS,
        not 0 <= body.get("max_retries", 0) <= 25,
        not 0 <= body.get("delay_seconds", 0) <= YEAR_SECONDS,
        not 1 <= len(body.get("idempotency_key", "k")) <= 255,
        "run_at" in body and "delay_seconds" in body,
    )


def _admit(
    world: World, caller: Caller, body: Mapping[str, Any], key: str | None
) -> tuple[Job, bool, bool]:
    """The job, whether it is new, and whether the key was used with another request."""
    rules = world.types.get(body["type"])
    invalid(rules is None or not rules.accept)
    assert rules is not None
    run_at = world.now + body.get("delay_seconds", 0) * SECOND
    if "run_at" in body:
        run_at = max(world.now, instant(body["run_at"]))
    invalid(run_at > world.now + YEAR_SECONDS * SECOND)
    if not caller.may_use(body["type"]):
        raise Refusal(403, "forbidden")
    most = min(caller.priority_max, rules.priority_max, key=LEVELS.__getitem__)
    priority = body.get("priority", min("medium", most, key=LEVELS.__getitem__)).lower()
    if LEVELS[priority] > LEVELS[most]:
        raise Refusal(403, "priority-not-allowed")
    sent = _fingerprint(body)
    known = world.find(
        lambda job: (job["producer_id"], job["idempotency_key"]) == (caller.name, key)
    )
    if key is not None and known:
        return known[0], False, known[0]["sent"] != sent
    return (
        world.add(_new(world, caller, body, rules.max_retries, priority, run_at, key)),
        True,
        False,
    )


def _new(
    world: World,
    caller: Caller,
    body: Mapping[str, Any],
    retries: int,
    priority: str,
    run_at: int,
    key: str | None,
) -> Job:
    nothing = ("claimed_at", "worker_id", "error", "lease_expires_at", "error_code", "result")
    return {
        "type": body["type"],
        "payload": body.get("payload", {}),
        "priority": priority,
        "status": "pending",
        "retry_count": 0,
        "max_retries": body.get("max_retries", retries),
        "idempotency_key": key,
        "created_at": world.now,
        "updated_at": world.now,
        "run_at": run_at,
        "attempt": 0,
        "release_count": 0,
        "producer_id": caller.name,
        **dict.fromkeys((*nothing, "finished_at", "cancel_requested_at", "claim", "redriven_by")),
        "history": [],
        "sent": _fingerprint(body),
    }


def _fingerprint(body: Mapping[str, Any]) -> str:
    sent = {name: body[name] for name in FINGERPRINT if name in body}
    if "priority" in sent:
        sent["priority"] = sent["priority"].lower()
    if "run_at" in sent:
        sent["run_at"] = instant(sent["run_at"])
    return json.dumps(sent, sort_keys=True)


def _result(world: World, caller: Caller, index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    try:
        body = sent_fields(item)
        _check(body)
        job, created, mismatch = _admit(world, caller, body, body.get("idempotency_key"))
    except Refusal as refusal:
        return {"index": index, "status": refusal.answer.status, "error": refusal.answer.code}
    return {
        "index": index,
        "status": 201 if created else 200,
        "id": job["id"],
        "replayed": not created,
        "payload_mismatch": mismatch,
    }


def _redrive(world: World, job: Job, caller: Caller) -> None:
    for attempt in job["history"][-1:]:
        attempt["closed"] = True
    nothing = ("finished_at", "result", "cancel_requested_at", "claimed_at", "worker_id")
    fresh: dict[str, Any] = {"retry_count": 0, "release_count": 0, "run_at": world.now}
    world.write(job, status="pending", redriven_by=caller.name, **fresh, **dict.fromkeys(nothing))


def _means(where: Mapping[str, Any], job: Job) -> bool:
    same = all(job[name] == where.get(name, job[name]) for name in ("status", "type", "error_code"))
    return same and created_between(where, job)
