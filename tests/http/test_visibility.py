"""Who sees what: jobs that are not the caller's look like jobs that do not exist."""

from typing import Any

import pytest

from tests.support.http import Api, assert_problem, json_of

SAME_REQUEST = {"X-Request-Id": "same"}
FIELDS = {
    *("id", "type", "payload", "priority", "status", "retry_count", "max_retries"),
    *("idempotency_key", "claimed_at", "worker_id", "error", "created_at", "updated_at"),
    *("run_at", "attempt", "lease_expires_at", "release_count", "producer_id", "error_code"),
    *("result", "finished_at", "cancel_requested_at"),
}


def completed(api: Api) -> Any:
    """An email of shop that mailer completed; it failed once before."""
    api.enqueue(idempotency_key="k")
    api.report("fail", api.claim(), error="boom", error_code="smtp_down")
    api.report("complete", api.claim(), result={"sent": True})
    return {"id": 1, "attempt": 2}


@pytest.mark.parametrize(
    ("key", "status"),
    [
        ("producer", 200),
        ("other-producer", 404),
        ("worker", 200),
        ("other-worker", 200),
        ("pdf-worker", 404),
        ("admin", 200),
    ],
)
def test_producers_see_their_own_and_workers_their_types(api: Api, key: str, status: int) -> None:
    api.enqueue()

    reply = api.call("GET", "/jobs/1", key)

    assert reply.status_code == status


def test_an_admins_job_is_not_a_producers(api: Api) -> None:
    api.enqueue("admin")

    reply = api.call("GET", "/jobs/1", "producer")

    assert_problem(reply, 404, "not-found")


@pytest.mark.parametrize("key", ["other-producer", "pdf-worker"])
def test_a_foreign_job_is_told_byte_for_byte_like_an_unknown_one(api: Api, key: str) -> None:
    api.enqueue()

    foreign = api.call("GET", "/jobs/1", key, headers=SAME_REQUEST)
    unknown = api.call("GET", "/jobs/999", key, headers=SAME_REQUEST)

    assert_problem(foreign, 404, "not-found")
    assert foreign.data == unknown.data
    assert foreign.headers == unknown.headers


@pytest.mark.parametrize("body", [{}, {"attempt": 1}])
@pytest.mark.parametrize("verb", ["complete", "fail"])
@pytest.mark.parametrize("state", ["pending", "running", "completed"])
def test_a_report_on_a_foreign_job_is_told_like_one_on_an_unknown_job(
    api: Api, state: str, verb: str, body: Any
) -> None:
    api.enqueue()
    if state != "pending":
        running = api.claim()
    if state == "completed":
        api.report("complete", running)

    foreign = api.call("POST", f"/jobs/1/{verb}", "pdf-worker", body, headers=SAME_REQUEST)
    unknown = api.call("POST", f"/jobs/999/{verb}", "pdf-worker", body, headers=SAME_REQUEST)

    assert_problem(foreign, 409, "conflict")
    assert foreign.data == unknown.data
    assert foreign.headers == unknown.headers


def test_an_unknown_job_is_told_like_one_in_the_wrong_state(api: Api) -> None:
    api.enqueue()

    pending = api.call("POST", "/jobs/1/complete", "worker", {}, headers=SAME_REQUEST)
    unknown = api.call("POST", "/jobs/999/complete", "worker", {}, headers=SAME_REQUEST)

    assert pending.data == unknown.data


@pytest.mark.parametrize(
    ("key", "hidden"),
    [
        ("producer", {"error": None, "idempotency_key": "k", "result": {"sent": True}}),
        ("worker", {"error": None, "idempotency_key": None, "result": {"sent": True}}),
        ("other-worker", {"error": None, "idempotency_key": None, "result": None}),
        ("admin", {"error": None, "idempotency_key": "k", "result": {"sent": True}}),
    ],
)
def test_hidden_fields_of_a_completed_job_are_null(
    api: Api, key: str, hidden: dict[str, Any]
) -> None:
    completed(api)

    job = api.get({"id": 1}, key)

    assert job == job | hidden


@pytest.mark.parametrize("key", ["producer", "worker", "other-worker", "admin"])
@pytest.mark.parametrize("way", ["get", "list"])
def test_no_field_is_ever_absent(api: Api, way: str, key: str) -> None:
    completed(api)

    if way == "get":
        job = api.get({"id": 1}, key)
    else:
        job = json_of(api.call("GET", "/jobs", key))["jobs"][0]

    assert job.keys() == FIELDS


@pytest.mark.parametrize(
    ("key", "error"), [("producer", None), ("worker", None), ("other-worker", None), ("admin", "b")]
)
@pytest.mark.parametrize("way", ["get", "list"])
def test_the_error_is_for_admins_on_every_way(
    api: Api, way: str, key: str, error: str | None
) -> None:
    api.enqueue()
    api.report("fail", api.claim(), error="b", retryable=False)

    if way == "get":
        job = api.get({"id": 1}, key)
    else:
        job = json_of(api.call("GET", "/jobs", key))["jobs"][0]

    assert job["error"] == error


def test_lists_hide_what_single_reads_hide(api: Api) -> None:
    completed(api)

    listed = {
        key: json_of(api.call("GET", "/jobs", key))["jobs"]
        for key in ("producer", "worker", "other-worker", "admin")
    }

    assert listed == {key: [api.get({"id": 1}, key)] for key in listed}


def test_a_claim_shows_the_worker_no_idempotency_key(api: Api) -> None:
    api.enqueue(idempotency_key="k")

    assert api.claim()["idempotency_key"] is None


def test_an_admin_sees_the_idempotency_key_of_what_it_claims(api: Api) -> None:
    api.enqueue(idempotency_key="k")

    assert api.claim("admin")["idempotency_key"] == "k"


def test_a_replayed_enqueue_shows_the_producer_no_error(api: Api) -> None:
    api.enqueue(idempotency_key="k")
    api.report("fail", api.claim(), error="boom")

    reply = api.call("POST", "/jobs", "producer", {"type": "email", "idempotency_key": "k"})

    assert reply.status_code == 200
    assert json_of(reply)["error"] is None


def test_a_replayed_report_shows_another_workers_result_to_nobody_else(api: Api) -> None:
    api.enqueue()
    first = api.claim()
    api.report("fail", first)
    api.report("complete", api.claim("other-worker"), "other-worker", result="secret")

    reply = api.report("fail", first)

    assert reply.headers["Idempotent-Replayed"] == "true"
    assert json_of(reply)["result"] is None
