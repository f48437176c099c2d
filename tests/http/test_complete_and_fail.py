"""What complete and fail do to the job, and what they take."""

from typing import Any

import pytest

from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem, faults, json_of, shipped_types

LEASE_SECONDS = 300


def claimed(api: Api, **fields: Any) -> Any:
    api.enqueue(**fields)
    return api.claim()


def test_complete_answers_with_the_finished_job(api: Api) -> None:
    running = claimed(api)
    api.clock.advance(3)

    reply = api.report("complete", running, result={"pages": 3})

    assert reply.status_code == 200
    assert json_of(reply) == running | {
        "status": "completed",
        "result": {"pages": 3},
        "lease_expires_at": None,
        "updated_at": "2026-11-29T12:00:03.000Z",
        "finished_at": "2026-11-29T12:00:03.000Z",
    }


def test_complete_clears_the_error_of_earlier_attempts(api: Api) -> None:
    api.report("fail", claimed(api), error="boom", error_code="smtp_down")

    api.report("complete", api.claim())
    job = api.get({"id": 1})

    assert (job["error"], job["error_code"]) == (None, None)
    assert (job["retry_count"], job["attempt"]) == (1, 2)


def test_fail_sends_the_job_back_to_pending(api: Api) -> None:
    running = claimed(api)
    api.clock.advance(3)

    reply = api.report("fail", running, error="connection refused", error_code="smtp_down")

    assert reply.status_code == 200
    assert json_of(reply) == running | {
        "status": "pending",
        "retry_count": 1,
        "claimed_at": None,
        "worker_id": None,
        "lease_expires_at": None,
        "error_code": "smtp_down",
        "updated_at": "2026-11-29T12:00:03.000Z",
    }
    assert api.get(running)["error"] == "connection refused"


def test_fail_without_retries_left_ends_the_job(api: Api) -> None:
    running = claimed(api, max_retries=0)
    api.clock.advance(3)

    reply = api.report("fail", running, error_code="smtp_down")

    assert json_of(reply) == running | {
        "status": "failed",
        "retry_count": 0,
        "lease_expires_at": None,
        "error_code": "smtp_down",
        "updated_at": "2026-11-29T12:00:03.000Z",
        "finished_at": "2026-11-29T12:00:03.000Z",
    }


def test_fail_that_is_not_retryable_ends_the_job_and_spends_nothing(api: Api) -> None:
    reply = api.report("fail", claimed(api), retryable=False)

    job = json_of(reply)
    assert (job["status"], job["retry_count"]) == ("failed", 0)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_max_retries_of_n_means_n_plus_one_runs(api: Api, number: int) -> None:
    """B19."""
    api.enqueue(max_retries=number)
    runs = 0

    while (running := api.claim()) is not None:
        runs += 1
        last = json_of(api.report("fail", running))

    assert runs == number + 1
    assert (last["status"], last["retry_count"]) == ("failed", number)


def test_the_error_is_that_of_the_newest_failure(api: Api) -> None:
    api.report("fail", claimed(api), error="first", error_code="one")

    api.report("fail", api.claim(), error="second")
    job = api.get({"id": 1})

    assert (job["error"], job["error_code"]) == ("second", None)


def test_without_a_backoff_a_retry_keeps_its_run_at(api: Api) -> None:
    running = claimed(api)
    api.clock.advance(3)

    reply = api.report("fail", running)

    assert json_of(reply)["run_at"] == running["run_at"]


def test_the_backoff_of_the_type_counts_from_the_report(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, shipped_types())
    first = json_of(api.report("fail", claimed(api)))
    clock.advance(2)

    second = json_of(api.report("fail", api.claim()))

    assert first["run_at"] == "2026-11-29T12:00:02.000Z"
    assert second["run_at"] == "2026-11-29T12:00:06.000Z"


@pytest.mark.parametrize(
    ("seconds", "run_at"),
    [
        (0, "2026-11-29T12:00:00.000Z"),
        (1, "2026-11-29T12:00:04.000Z"),
        (86_400, "2026-11-30T12:00:03.000Z"),
    ],
)
def test_retry_in_seconds_replaces_the_backoff(
    store: Store, clock: FakeClock, seconds: int, run_at: str
) -> None:
    api = Api(store, clock, shipped_types())
    running = claimed(api)
    clock.advance(3)

    reply = api.report("fail", running, retry_in_seconds=seconds)

    assert json_of(reply)["run_at"] == run_at


@pytest.mark.parametrize("seconds", [0, 5])
def test_retry_in_seconds_contradicts_retryable_false(api: Api, seconds: int) -> None:
    running = claimed(api)

    reply = api.report("fail", running, retryable=False, retry_in_seconds=seconds)

    assert faults(reply) == [("retry_in_seconds", "conflict")]
    assert api.get(running)["status"] == "running"


def test_null_for_every_field_means_absent(api: Api) -> None:
    body = dict.fromkeys(["attempt", "error", "error_code", "retryable", "retry_in_seconds"])
    claimed(api)

    reply = api.call("POST", "/jobs/1/fail", "worker", body)

    assert json_of(reply)["status"] == "pending"


@pytest.mark.parametrize(
    ("verb", "name", "value", "fault"),
    [
        ("complete", "attempt", 0, "out-of-range"),
        ("complete", "attempt", -1, "out-of-range"),
        ("complete", "attempt", 2**53, "out-of-range"),
        ("complete", "attempt", True, "wrong-type"),
        ("complete", "attempt", "1", "wrong-type"),
        ("complete", "attempt", 1.0, "wrong-type"),
        ("complete", "error", "x", "unknown"),
        ("complete", "worker_id", "mailer", "unknown"),
        ("complete", "status", "completed", "unknown"),
        ("fail", "result", {}, "unknown"),
        ("fail", "worker_id", "mailer", "unknown"),
        ("fail", "error", 5, "wrong-type"),
        ("fail", "error", {"text": "x"}, "wrong-type"),
        ("fail", "error_code", "", "wrong-length"),
        ("fail", "error_code", "a" * 65, "wrong-length"),
        ("fail", "error_code", "Smtp", "wrong-format"),
        ("fail", "error_code", "smtp-down", "wrong-format"),
        ("fail", "error_code", "smtp_down\n", "wrong-format"),
        ("fail", "error_code", "é", "wrong-format"),
        ("fail", "error_code", 5, "wrong-type"),
        ("fail", "error_code", "lease_expired", "reserved"),
        ("fail", "error_code", "release_limit", "reserved"),
        ("fail", "error_code", "payload_lost", "reserved"),
        ("fail", "retryable", "false", "wrong-type"),
        ("fail", "retryable", 0, "wrong-type"),
        ("fail", "retry_in_seconds", -1, "out-of-range"),
        ("fail", "retry_in_seconds", 86_401, "out-of-range"),
        ("fail", "retry_in_seconds", 1.5, "wrong-type"),
        ("fail", "retry_in_seconds", True, "wrong-type"),
    ],
)
def test_a_field_out_of_its_limits_is_refused(
    api: Api, verb: str, name: str, value: Any, fault: str
) -> None:
    claimed(api)

    reply = api.call("POST", f"/jobs/1/{verb}", "worker", {name: value})

    assert faults(reply) == [(name, fault)]
    assert api.get({"id": 1})["status"] == "running"


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_producer_may_not_report(api: Api, verb: str) -> None:
    running = claimed(api)

    reply = api.report(verb, running, "producer")

    assert_problem(reply, 403, "forbidden")
