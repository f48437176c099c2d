"""The contract's table of roles over HTTP: a test for each row, over every route.

The producer's jobs are of the one type that the worker may run; `foreign` is another producer's, of
another type. The worker runs `running`, the admin `held`; `failed` has an error text.
"""

from typing import Any

import pytest

from queuelog_core.http.routes import ROUTES
from tests.support.http import Api, assert_problem, json_of

IDS = {"running": 1, "held": 2, "failed": 3, "foreign": 4, "pending": 5}
PRODUCER, WORKER, ADMIN = KEYS = ("producer", "pdf-worker", "admin")
BODIES: dict[str, Any] = {
    "/jobs": {"type": "pdf"},
    "/jobs/batch": {"jobs": [{"type": "pdf"}]},
    "/jobs/redrive": {"filter": {"status": "failed"}},
}
TABLE = """
POST /jobs                      201 403 201
POST /jobs/batch                200 403 200
GET  /jobs                      200 200 200
GET  /jobs/{pending}            200 200 200
GET  /jobs/{foreign}            404 404 200
GET  /jobs/{failed}/attempts    200 200 200
GET  /jobs/{foreign}/attempts   404 404 200
POST /jobs/{pending}/cancel     200 403 200
POST /jobs/{running}/cancel     202 403 202
POST /jobs/{foreign}/cancel     404 403 200
POST /jobs/claim                403 200 200
POST /jobs/{running}/heartbeat  403 200 409
POST /jobs/{running}/complete   403 200 409
POST /jobs/{running}/fail       403 200 409
POST /jobs/{running}/release    403 200 409
POST /jobs/{held}/heartbeat     403 409 200
POST /jobs/{held}/complete      403 409 200
POST /jobs/{held}/fail          403 409 200
POST /jobs/{held}/release       403 409 200
POST /jobs/{failed}/redrive     403 403 200
POST /jobs/redrive              403 403 200
GET  /stats                     403 200 200
GET  /whoami                    200 200 200
GET  /health                    200 200 200
GET  /openapi.json              200 200 200
"""
LINES = [line.split() for line in TABLE.strip().splitlines()]


def row(key: str) -> pytest.MarkDecorator:
    column = 2 + KEYS.index(key)
    cells = [(line[0], line[1], int(line[column])) for line in LINES]
    return pytest.mark.parametrize(("method", "path", "status"), cells)


@pytest.fixture
def api(api: Api) -> Api:
    for key in (WORKER, ADMIN, WORKER):
        api.enqueue(PRODUCER, "pdf")
        job = api.claim(key)
    api.report("fail", job, WORKER, retryable=False, error="smtp down", error_code="smtp_down")
    api.enqueue("other-producer", "email")
    assert api.enqueue(PRODUCER, "pdf")["id"] == IDS["pending"]
    return api


def assert_answer(api: Api, method: str, path: str, key: str, status: int) -> None:
    body = BODIES.get(path) if method == "POST" else None
    reply = api.call(method, path.format(**IDS), key, body)
    codes = {403: "forbidden", 404: "not-found", 409: "not-owner"}
    if status in codes:
        assert_problem(reply, status, codes[status])
    assert reply.status_code == status


@row(PRODUCER)
def test_a_producer_may_enqueue_and_read_and_cancel_its_own_jobs(
    api: Api, method: str, path: str, status: int
) -> None:
    assert_answer(api, method, path, PRODUCER, status)


@pytest.mark.parametrize(
    ("key", "priority", "status"),
    [
        ("low-producer", "low", 201),
        ("low-producer", "medium", 403),
        ("producer", "high", 201),
        ("producer", "critical", 403),
        ("admin", "critical", 201),
    ],
)
def test_a_priority_above_the_keys_highest_is_not_allowed(
    api: Api, key: str, priority: str, status: int
) -> None:
    reply = api.call("POST", "/jobs", key, {"type": "email", "priority": priority})

    assert reply.status_code == status
    if status == 403:
        assert_problem(reply, 403, "priority-not-allowed")


@row(WORKER)
def test_a_worker_may_claim_and_report_and_read_the_jobs_of_its_types_and_the_numbers(
    api: Api, method: str, path: str, status: int
) -> None:
    assert_answer(api, method, path, WORKER, status)


@row(ADMIN)
def test_an_admin_may_do_everything_on_every_job_and_report_on_what_it_claimed(
    api: Api, method: str, path: str, status: int
) -> None:
    assert_answer(api, method, path, ADMIN, status)


@pytest.mark.parametrize(
    ("key", "hidden", "error"),
    [(PRODUCER, {4}, None), (WORKER, {4}, None), (ADMIN, set(), "smtp down")],
)
def test_each_role_sees_its_own_jobs_and_only_admins_see_errors(
    api: Api, key: str, hidden: set[int], error: str | None
) -> None:
    jobs = {job["id"]: job for job in json_of(api.call("GET", "/jobs", key))["jobs"]}
    (attempt,) = json_of(api.call("GET", "/jobs/3/attempts", key))["attempts"]
    assert jobs.keys() == set(IDS.values()) - hidden
    assert [jobs[3]["error"], api.get({"id": 3}, key)["error"], attempt["error"]] == [error] * 3
    assert jobs[3]["error_code"] == attempt["error_code"] == "smtp_down"


def test_an_admins_own_jobs_are_no_producers(api: Api) -> None:
    mine = api.enqueue(ADMIN, "pdf", idempotency_key="k")
    theirs = api.enqueue(PRODUCER, "pdf", idempotency_key="k")

    assert (mine["producer_id"], theirs["producer_id"]) == ("root", "shop")
    assert_answer(api, "GET", f"/jobs/{mine['id']}", PRODUCER, 404)


@pytest.mark.parametrize("key", KEYS)
def test_the_table_names_every_route_and_whoami_tells_the_same(api: Api, key: str) -> None:
    def template(path: str) -> str:
        return "/jobs/{id}" + path.partition("}")[2] if "{" in path else path

    column = 2 + KEYS.index(key)
    allowed = {f"{line[0]} {template(line[1])}" for line in LINES if line[column] != "403"}

    assert {(line[0], template(line[1])) for line in LINES} == {(r.method, r.path) for r in ROUTES}
    assert set(json_of(api.call("GET", "/whoami", key))["may"]) == allowed
