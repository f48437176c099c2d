"""What makes two reports the same, and what a late completion gives back. Which report is answered
how is in test_reports_table.py."""

from typing import Any

import pytest

from tests.support.http import Api, assert_problem, json_of

LEASE_SECONDS = 300


def claimed(api: Api, **fields: Any) -> Any:
    api.enqueue(**fields)
    return api.claim()


def expire(api: Api) -> None:
    api.clock.advance(LEASE_SECONDS)
    api.queue.leases.recover(1)


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("complete", {}),
        ("complete", {"result": {"a": 1, "b": [2]}}),
        ("fail", {}),
        ("fail", {"error": "boom", "error_code": "smtp_down", "retry_in_seconds": 5}),
        ("fail", {"retryable": False}),
        ("release", {}),
        ("release", {"delay_seconds": 5}),
    ],
)
def test_the_same_report_again_changes_nothing(api: Api, verb: str, body: Any) -> None:
    """B32."""
    running = claimed(api)
    first = api.report(verb, running, **body)
    api.clock.advance(60)

    again = api.report(verb, running, **body)

    assert again.status_code == 200
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.data == first.data


def test_the_same_report_in_another_spelling_is_the_same(api: Api) -> None:
    running = claimed(api)
    api.report("complete", running, result={"a": 1, "b": 2})
    raw = b'{"result": {"b": 2, "\\u0061": 1}, "attempt": 1}'

    again = api.call("POST", "/jobs/1/complete", "worker", raw=raw)

    assert again.headers["Idempotent-Replayed"] == "true"


def test_fields_that_are_null_or_default_make_no_other_report(api: Api) -> None:
    running = claimed(api)
    api.report("fail", running)

    again = api.report("fail", running, error=None, retryable=True, retry_in_seconds=None)

    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_delay_that_is_null_makes_no_other_release(api: Api) -> None:
    running = claimed(api)
    api.report("release", running)

    again = api.report("release", running, delay_seconds=None)

    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("verb", "first", "verb_again", "again"),
    [
        ("complete", {"result": 1}, "complete", {"result": 2}),
        ("complete", {"result": 1}, "complete", {"result": 1.0}),
        ("complete", {"result": 1}, "complete", {}),
        ("complete", {}, "fail", {}),
        ("fail", {}, "complete", {}),
        ("fail", {"error": "a"}, "fail", {"error": "b"}),
        ("fail", {"error_code": "a"}, "fail", {"error_code": "b"}),
        ("fail", {"retryable": True}, "fail", {"retryable": False}),
        ("fail", {"retry_in_seconds": 1}, "fail", {"retry_in_seconds": 2}),
        ("fail", {}, "release", {}),
        ("release", {"delay_seconds": 1}, "release", {"delay_seconds": 2}),
        ("release", {}, "heartbeat", {}),
    ],
)
def test_another_report_of_the_same_attempt_is_refused(
    api: Api, verb: str, first: Any, verb_again: str, again: Any
) -> None:
    """B32."""
    running = claimed(api)
    api.report(verb, running, **first)
    before = api.get(running)

    reply = api.report(verb_again, running, **again)

    assert_problem(reply, 409, "already-reported")
    assert api.get(running) == before


@pytest.mark.parametrize(("later", "known"), [(9, True), (10, False)])
def test_the_history_knows_the_newest_ten_attempts(api: Api, later: int, known: bool) -> None:
    running = claimed(api, max_retries=25)
    api.report("fail", running, error_code="the_first")
    for _ in range(later):
        api.report("fail", api.claim())

    again = api.report("fail", running, error_code="the_first")

    assert (again.headers.get("Idempotent-Replayed") == "true") is known
    assert again.status_code == (200 if known else 409)


@pytest.mark.parametrize(
    ("max_retries", "status"), [(3, "pending"), (0, "failed"), (3, "cancelled")]
)
def test_a_late_completion_counts_as_long_as_nobody_took_the_job(
    api: Api, max_retries: int, status: str
) -> None:
    running = claimed(api, max_retries=max_retries)
    if status == "cancelled":
        api.call("POST", "/jobs/1/cancel")
    expire(api)
    assert api.get(running)["status"] == status

    reply = api.report("complete", running, result="done")
    job = api.get(running)

    assert reply.status_code == 200
    assert (job["status"], job["result"], job["retry_count"]) == ("completed", "done", 0)
    assert (job["error"], job["error_code"]) == (None, None)
    assert (job["worker_id"], job["claimed_at"]) == ("mailer", running["claimed_at"])


def test_a_late_completion_gives_back_only_what_its_own_expiry_spent(api: Api) -> None:
    api.report("fail", claimed(api))
    running = api.claim()
    expire(api)

    reply = api.report("complete", running)

    assert json_of(reply)["retry_count"] == 1


def test_a_late_completion_of_the_last_attempt_gives_nothing_back(api: Api) -> None:
    api.report("fail", claimed(api, max_retries=1))
    running = api.claim()
    expire(api)

    reply = api.report("complete", running)

    assert json_of(reply)["retry_count"] == 1
