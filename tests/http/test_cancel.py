"""Cancel ends a job that nobody runs, and asks the worker of a running one to stop."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.clock import format_instant
from tests.support.factories import NOON
from tests.support.http import Api, assert_problem, faults, json_of

LEASE = 300
every_canceller = pytest.mark.parametrize("key", ["producer", "admin"])


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


def cancel(api: Api, key: str = "producer", body: Any = None) -> TestResponse:
    return api.call("POST", "/jobs/1/cancel", key, body)


def run(api: Api, **fields: Any) -> Any:
    api.enqueue(**fields)
    return api.claim()


def attempts(api: Api) -> Any:
    return json_of(api.call("GET", "/jobs/1/attempts"))["attempts"]


@every_canceller
@pytest.mark.parametrize("body", [None, {}])
@pytest.mark.parametrize("delay", [0, 60])
def test_a_pending_job_is_cancelled(api: Api, delay: int, body: Any, key: str) -> None:
    api.enqueue(delay_seconds=delay)
    before = api.get({"id": 1}, key)
    api.clock.advance(10)

    reply = cancel(api, key, body)

    assert reply.status_code == 200
    assert json_of(reply) == before | {
        "status": "cancelled",
        "updated_at": at(10),
        "finished_at": at(10),
    }
    api.clock.advance(60)
    assert api.claim() is None


def test_a_job_that_waits_for_its_retry_is_cancelled_with_its_history_and_error(api: Api) -> None:
    api.report("fail", run(api), error="boom", error_code="boom", retry_in_seconds=60)

    cancel(api)

    job = api.get({"id": 1})
    assert (job["status"], job["error"], job["error_code"]) == ("cancelled", "boom", "boom")
    assert [entry["outcome"] for entry in attempts(api)] == ["failed"]


@every_canceller
def test_a_running_job_is_asked_to_stop(api: Api, key: str) -> None:
    job = run(api)
    before = api.get(job, key)
    api.clock.advance(10)

    reply = cancel(api, key)

    assert reply.status_code == 202
    assert json_of(reply) == before | {"cancel_requested_at": at(10), "updated_at": at(10)}
    assert "Idempotent-Replayed" not in reply.headers


@every_canceller
def test_a_second_wish_changes_nothing(api: Api, key: str) -> None:
    run(api)
    first = cancel(api)
    before = api.get({"id": 1})
    api.clock.advance(10)

    again = cancel(api, key)

    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (202, "true")
    assert json_of(again) == json_of(first)
    assert api.get({"id": 1}) == before


@pytest.mark.parametrize("asked_before", [True, False])
@pytest.mark.parametrize(
    ("waited", "status", "answer"), [(LEASE - 0.001, "running", 202), (LEASE, "cancelled", 200)]
)
def test_a_job_whose_lease_has_run_out_is_cancelled_at_once(
    api: Api, waited: float, status: str, answer: int, asked_before: bool
) -> None:
    run(api)
    if asked_before:
        cancel(api)
    api.clock.advance(waited)

    reply = cancel(api)

    job = json_of(reply)
    assert (reply.status_code, job["status"]) == (answer, status)
    assert job["cancel_requested_at"] == at(0 if asked_before else waited)
    if status == "cancelled":
        assert (job["error_code"], job["retry_count"]) == ("lease_expired", 0)
        assert (job["finished_at"], job["lease_expires_at"]) == (at(LEASE), None)
        assert [entry["outcome"] for entry in attempts(api)] == ["expired"]
        assert json_of(api.call("GET", "/stats"))["late_reports"] == 0


@every_canceller
@pytest.mark.parametrize("was_running", [True, False])
def test_a_cancelled_job_stays_as_it_is(api: Api, was_running: bool, key: str) -> None:
    if was_running:
        job = run(api)
        cancel(api)
        api.report("fail", job)
    else:
        api.enqueue()
        cancel(api)
    before = api.get({"id": 1})
    api.clock.advance(10)

    again = cancel(api, key)

    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert json_of(again) == api.get({"id": 1}, key)
    assert api.get({"id": 1}) == before


@every_canceller
@pytest.mark.parametrize(("verb", "body"), [("complete", {}), ("fail", {"retryable": False})])
def test_a_job_that_has_ended_otherwise_cannot_be_cancelled(
    api: Api, verb: str, body: Any, key: str
) -> None:
    api.report(verb, run(api), **body)
    before = api.get({"id": 1})
    api.clock.advance(10)

    assert_problem(cancel(api, key), 409, "conflict")
    assert api.get({"id": 1}) == before


@pytest.mark.parametrize("waited", [10, LEASE + 10])
def test_complete_still_wins(api: Api, waited: float) -> None:
    job = run(api)
    cancel(api)
    api.clock.advance(waited)

    reply = api.report("complete", job, result="done")

    assert reply.status_code == 200
    assert (json_of(reply)["status"], json_of(reply)["result"]) == ("completed", "done")


def test_complete_still_wins_when_the_end_of_the_lease_has_cancelled_the_job(api: Api) -> None:
    job = run(api)
    api.clock.advance(LEASE)
    assert json_of(cancel(api))["status"] == "cancelled"

    assert json_of(api.report("complete", job))["status"] == "completed"


@pytest.mark.parametrize(
    ("verb", "body", "outcome"),
    [
        ("fail", {"error_code": "boom"}, "failed"),
        ("fail", {"error_code": "boom", "retry_in_seconds": 9}, "failed"),
        ("fail", {"error_code": "boom", "retryable": False}, "failed"),
        ("release", {}, "released"),
        ("release", {"delay_seconds": 9}, "released"),
    ],
)
@pytest.mark.parametrize("max_retries", [0, 3])
def test_a_report_that_gives_the_job_up_then_cancels_it(
    api: Api, max_retries: int, verb: str, body: Any, outcome: str
) -> None:
    job = run(api, max_retries=max_retries)
    cancel(api)
    api.clock.advance(10)

    after = json_of(api.report(verb, job, **body))

    assert (after["status"], after["retry_count"]) == ("cancelled", 0)
    assert (after["finished_at"], after["cancel_requested_at"]) == (at(10), at(0))
    assert after["error_code"] == body.get("error_code")
    assert (after["worker_id"], after["claimed_at"], after["attempt"]) == ("mailer", at(0), 1)
    assert [entry["outcome"] for entry in attempts(api)] == [outcome]


@pytest.mark.parametrize("settled_by", ["claim", "upkeep"])
@pytest.mark.parametrize("max_retries", [0, 3])
def test_the_end_of_the_lease_then_cancels_the_job(
    api: Api, max_retries: int, settled_by: str
) -> None:
    run(api, max_retries=max_retries)
    cancel(api)
    api.clock.advance(LEASE)
    assert api.get({"id": 1})["status"] == "running"

    if settled_by == "claim":
        assert api.claim("other-worker") is None
    else:
        assert api.queue.leases.recover(1) == 1

    after = api.get({"id": 1})
    assert (after["status"], after["retry_count"]) == ("cancelled", 0)
    assert (after["error_code"], after["finished_at"]) == ("lease_expired", at(LEASE))


def test_a_heartbeat_goes_on_after_the_wish(api: Api) -> None:
    job = run(api)
    cancel(api)
    api.clock.advance(LEASE - 1)

    assert api.report("heartbeat", job).status_code == 200

    api.clock.advance(LEASE - 1)
    assert json_of(cancel(api))["status"] == "running"


@pytest.mark.parametrize("running", [True, False])
def test_a_job_of_another_producer_is_told_like_one_that_does_not_exist(
    api: Api, running: bool
) -> None:
    api.enqueue("other-producer")
    if running:
        api.claim()
    before = api.get({"id": 1})
    same = {"X-Request-Id": "same"}

    foreign = api.call("POST", "/jobs/1/cancel", "producer", headers=same)
    unknown = api.call("POST", "/jobs/999/cancel", "producer", headers=same)

    assert_problem(foreign, 404, "not-found")
    assert foreign.data == unknown.data
    assert api.get({"id": 1}) == before


def test_cancel_takes_no_field(api: Api) -> None:
    api.enqueue()

    assert faults(cancel(api, body={"reason": "x"})) == [("reason", "unknown")]
    assert api.get({"id": 1})["status"] == "pending"
