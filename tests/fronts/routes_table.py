"""One success and one refusal of every route, by hand from the contract."""

from collections.abc import Callable
from typing import Any

from tests.fronts.front import Answer
from tests.fronts.scene import Scene

Ask = Callable[[Scene], Answer]
NOBODY = 9_007_199_254_740_991
"""An id that no job has."""


def of_a_job(method: str, verb: str, key: str, body: Any = None) -> Ask:
    """A request about a pending job."""
    return lambda scene: scene.call(method, f"/jobs/{scene.pending()['id']}{verb}", key, body)


def of_nobody(method: str, verb: str, key: str) -> Ask:
    return lambda scene: scene.call(method, f"/jobs/{NOBODY}{verb}", key)


def of_mine(verb: str, **fields: Any) -> Ask:
    """A worker's report on its running job."""
    return lambda scene: scene.report(verb, scene.running(), **fields)


def plain(method: str, path: str, key: str | None = None, body: Any = None) -> Ask:
    return lambda scene: scene.call(method, path, key, body)


def redrive(scene: Scene) -> Answer:
    return scene.call("POST", f"/jobs/{scene.failed()['id']}/redrive", "admin")


def redrive_of_a_running_job(scene: Scene) -> Answer:
    return scene.call("POST", f"/jobs/{scene.running()['id']}/redrive", "admin")


def redrive_many(scene: Scene) -> Answer:
    scene.failed()
    asked = {"filter": {"status": "failed", "type": scene.job_type}, "limit": 200}
    return scene.call("POST", "/jobs/redrive", "admin", asked)


def claim(scene: Scene) -> Answer:
    scene.pending()
    return scene.call("POST", "/jobs/claim", "worker", {"types": [scene.job_type]})


# By route: the status, and what the document says besides what its schema says.
SUCCESSES: dict[str, tuple[int, dict[str, Any], Ask]] = {
    "enqueue": (
        201,
        {"status": "pending", "producer_id": "producer", "payload": {"to": "Åda ☃ 😀"}},
        lambda scene: scene.call(
            "POST", "/jobs", "producer", scene.new(payload={"to": "Åda ☃ 😀"})
        ),
    ),
    "batch": (
        200,
        {},
        lambda scene: scene.call("POST", "/jobs/batch", "producer", {"jobs": [scene.new()]}),
    ),
    "list_jobs": (200, {}, lambda scene: scene.call("GET", "/jobs?limit=1&order=asc", "producer")),
    "claim": (200, {"status": "running", "worker_id": "worker", "attempt": 1}, claim),
    "redrive_many": (200, {"more": False}, redrive_many),
    "get": (200, {"status": "pending"}, of_a_job("GET", "", "producer")),
    "attempts": (200, {"attempts": [], "dropped": 0}, of_a_job("GET", "/attempts", "admin")),
    "complete": (
        200,
        {"status": "completed", "result": {"sent": 1}},
        of_mine("complete", result={"sent": 1}),
    ),
    "fail": (
        200,
        {"status": "pending", "retry_count": 1, "error_code": "smtp_down", "error": None},
        of_mine("fail", error="down", error_code="smtp_down", retry_in_seconds=0),
    ),
    "heartbeat": (200, {"cancel_requested": False}, of_mine("heartbeat")),
    "release": (200, {"status": "pending", "release_count": 1}, of_mine("release")),
    "cancel": (200, {"status": "cancelled"}, of_a_job("POST", "/cancel", "producer")),
    "redrive": (200, {"status": "pending", "retry_count": 0}, redrive),
    "stats": (200, {}, plain("GET", "/stats", "worker")),
    "whoami": (200, {"name": "worker", "role": "worker"}, plain("GET", "/whoami", "worker")),
    "health": (200, {"status": "ok"}, plain("GET", "/health")),
    "openapi": (200, {"openapi": "3.1.0"}, plain("GET", "/openapi.json")),
}
REFUSALS: dict[str, tuple[int, str, Ask]] = {
    "enqueue": (422, "validation-failed", plain("POST", "/jobs", "producer", {"type": "fax"})),
    "batch": (422, "validation-failed", plain("POST", "/jobs/batch", "producer", {"jobs": []})),
    "list_jobs": (422, "validation-failed", plain("GET", "/jobs?nope=1", "producer")),
    "claim": (422, "validation-failed", plain("POST", "/jobs/claim", "worker", {"types": []})),
    "redrive_many": (422, "validation-failed", plain("POST", "/jobs/redrive", "admin", {})),
    "get": (404, "not-found", of_nobody("GET", "", "producer")),
    "attempts": (404, "not-found", of_nobody("GET", "/attempts", "admin")),
    "complete": (409, "conflict", of_a_job("POST", "/complete", "worker", {"result": 1})),
    "fail": (409, "conflict", of_nobody("POST", "/fail", "worker")),
    "heartbeat": (409, "conflict", of_a_job("POST", "/heartbeat", "worker", {"attempt": 1})),
    "release": (409, "not-owner", lambda scene: scene.report("release", scene.running(), "admin")),
    "cancel": (404, "not-found", of_nobody("POST", "/cancel", "producer")),
    "redrive": (409, "conflict", redrive_of_a_running_job),
    "stats": (403, "forbidden", plain("GET", "/stats", "producer")),
    "whoami": (401, "unauthorized", plain("GET", "/whoami")),
    "health": (405, "method-not-allowed", plain("POST", "/health")),
    "openapi": (405, "method-not-allowed", plain("DELETE", "/openapi.json")),
}
# What a gateway answers by itself: only the status is the contract, and it knows no 405.
AT_A_GATEWAY = {401: 401, 403: 403, 405: 404}
# A header that is there and empty: AWS never asks its authorizer, serverless-offline does.
EMPTY_KEY = {"offline": 403}
