"""The contract's table of reports over HTTP: a test for each row, in its order, for all four verbs.

A situation is what happened to job 1 before, step by step; a report is the worker's, who names the
attempt or does not. Refused and repeated reports change nothing in the job. A report on an attempt
that the caller held is counted in /stats when it comes after the lease.
"""

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.reports import Verb
from tests.support.http import Api, assert_problem, json_of

LEASE_SECONDS = 300
every_verb = pytest.mark.parametrize("verb", [verb.value for verb in Verb])
named_or_not = pytest.mark.parametrize("attempt", [None, 1])

FIRST: dict[str, dict[str, Any]] = {
    "complete": {"result": {"by": "the first"}},
    "fail": {"error_code": "the_first"},
    "release": {"delay_seconds": 7},
}
STEPS: dict[str, Callable[[Api], Any]] = {
    "enqueued": lambda api: api.enqueue(),
    "enqueued-for-one-run": lambda api: api.enqueue(max_retries=0),
    "claimed": lambda api: api.claim(),
    "claimed-by-another": lambda api: api.claim("other-worker"),
    "claimed-by-an-admin": lambda api: api.claim("admin"),
    "lease-over": lambda api: api.clock.advance(LEASE_SECONDS),
    "settled": lambda api: api.queue.leases.recover(1),
    "cancel": lambda api: api.call("POST", "/jobs/1/cancel"),
    "redriven": lambda api: api.call("POST", "/jobs/1/redrive"),
    "complete": lambda api: post(api, "complete", 1, **FIRST["complete"]),
    "fail": lambda api: post(api, "fail", 1, **FIRST["fail"]),
    "fail-for-good": lambda api: post(api, "fail", 1, retryable=False),
    "release": lambda api: post(api, "release", 1, **FIRST["release"]),
    "complete-by-another": lambda api: post(api, "complete", None, "other-worker"),
    "fail-for-good-by-another": lambda api: post(
        api, "fail", None, "other-worker", retryable=False
    ),
}
OVERDUE = "enqueued claimed lease-over"
EXPIRED = f"{OVERDUE} settled"
LATE = [
    EXPIRED,
    "enqueued-for-one-run claimed lease-over settled",
    "enqueued claimed cancel lease-over settled",
    f"{OVERDUE} cancel",
    f"{EXPIRED} cancel",
]
"""The last attempt was the worker's and ended by expiry: pending, failed, three ways cancelled."""


def post(api: Api, verb: str, attempt: int | None, key: str = "worker", **body: Any) -> Any:
    named = {} if attempt is None else {"attempt": attempt}
    return api.call("POST", f"/jobs/1/{verb}", key, named | body)


def seen(api: Api) -> tuple[list[bytes], int]:
    """All that an admin can read of the job, and how many reports came late."""
    same = {"X-Request-Id": "same"}
    read = [api.call("GET", path, headers=same).data for path in ("/jobs", "/jobs/1/attempts")]
    return read, json_of(api.call("GET", "/stats"))["late_reports"]


def tell(
    api: Api, situation: str, verb: str, attempt: int | None, key: str = "worker", **body: Any
) -> tuple[TestResponse, bool, int]:
    """The answer to a report, whether it changed the job, and how many came late by it."""
    for step in situation.split():
        STEPS[step](api)
    before, counted = seen(api)
    api.clock.advance(1)
    reply = post(api, verb, attempt, key, **body)
    after, counted_after = seen(api)
    return reply, after != before, counted_after - counted


def assert_refused(told: tuple[TestResponse, bool, int], code: str, late: int = 0) -> None:
    reply, *done = told
    assert_problem(reply, 409, code)
    assert done == [False, late]


@every_verb
@named_or_not
@pytest.mark.parametrize(
    ("situation", "key"), [("", "worker"), ("enqueued claimed-by-an-admin", "pdf-worker")]
)
def test_a_job_that_does_not_exist_or_is_not_visible_is_a_conflict(
    api: Api, situation: str, key: str, attempt: int | None, verb: str
) -> None:
    assert_refused(tell(api, situation, verb, attempt, key), "conflict")


@pytest.mark.parametrize(
    ("situation", "verb", "status"),
    [
        ("enqueued claimed complete", "complete", "completed"),
        (f"{EXPIRED} complete", "complete", "completed"),
        ("enqueued claimed fail", "fail", "pending"),
        ("enqueued-for-one-run claimed fail", "fail", "failed"),
        ("enqueued-for-one-run claimed fail redriven", "fail", "pending"),
        ("enqueued claimed cancel fail", "fail", "cancelled"),
        ("enqueued claimed fail claimed-by-another", "fail", "running"),
        ("enqueued claimed fail claimed-by-another complete-by-another", "fail", "completed"),
        ("enqueued claimed release", "release", "pending"),
        ("enqueued claimed cancel release", "release", "cancelled"),
    ],
)
def test_a_report_that_the_history_holds_is_answered_with_the_job_as_it_is_now(
    api: Api, situation: str, verb: str, status: str
) -> None:
    """B32."""
    reply, *done = tell(api, situation, verb, 1, **FIRST[verb])

    assert (reply.status_code, json_of(reply)["status"]) == (200, status)
    assert reply.headers["Idempotent-Replayed"] == "true"
    assert reply.data == api.call("GET", "/jobs/1", "worker").data
    assert done == [False, 0]


@every_verb
@pytest.mark.parametrize(
    "situation",
    [
        "enqueued claimed complete",
        f"{EXPIRED} complete",
        "enqueued claimed fail",
        "enqueued claimed fail claimed",
        "enqueued claimed fail claimed-by-another",
        "enqueued claimed fail-for-good",
        "enqueued claimed fail-for-good redriven",
        "enqueued claimed cancel fail",
        "enqueued claimed release",
        "enqueued claimed cancel release",
    ],
)
def test_any_other_report_on_an_attempt_that_the_history_holds_was_already_reported(
    api: Api, situation: str, verb: str
) -> None:
    """B32."""
    assert_refused(tell(api, situation, verb, 1), "already-reported")


@every_verb
@pytest.mark.parametrize(
    ("situation", "attempt", "late"),
    [
        ("enqueued claimed", 2, 0),
        ("enqueued claimed-by-another", 2, 0),
        (f"{EXPIRED} claimed", 1, 1),
        (f"{EXPIRED} claimed", 3, 0),
        (f"{EXPIRED} claimed-by-another", 1, 1),
        ("enqueued claimed-by-another lease-over settled claimed", 1, 0),
    ],
)
def test_an_attempt_that_is_not_the_current_one_of_a_running_job_has_lost_its_lease(
    api: Api, situation: str, attempt: int, late: int, verb: str
) -> None:
    """B23: one key with two attempts is two workers."""
    assert_refused(tell(api, situation, verb, attempt), "lease-lost", late)


@every_verb
@pytest.mark.parametrize("key", ["worker", "admin"])
@pytest.mark.parametrize(
    ("situation", "current"),
    [
        ("enqueued claimed-by-another", 1),
        ("enqueued claimed-by-another lease-over", 1),
        ("enqueued claimed-by-another cancel", 1),
        (f"{EXPIRED} claimed-by-another", 2),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_running_job_of_another_identity_is_not_the_callers_and_the_holder_is_not_named(
    api: Api, situation: str, current: int, named: bool, key: str, verb: str
) -> None:
    told = tell(api, situation, verb, current if named else None, key)

    assert_refused(told, "not-owner")
    assert b"printer" not in told[0].data


@named_or_not
@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("complete", {"status": "completed", "retry_count": 0, "release_count": 0}),
        ("fail", {"status": "pending", "retry_count": 1, "release_count": 0}),
        ("heartbeat", {"lease_seconds_remaining": LEASE_SECONDS, "cancel_requested": False}),
        ("release", {"status": "pending", "retry_count": 0, "release_count": 1}),
    ],
)
@pytest.mark.parametrize(("situation", "late"), [("enqueued claimed", 0), (OVERDUE, 1)])
def test_a_report_of_the_holder_is_applied_even_if_the_lease_has_run_out(
    api: Api, situation: str, late: int, verb: str, answer: Any, attempt: int | None
) -> None:
    reply, *done = tell(api, situation, verb, attempt)

    document = json_of(reply)
    assert (reply.status_code, document) == (200, document | answer)
    assert "Idempotent-Replayed" not in reply.headers
    assert done == [True, late]


@every_verb
@pytest.mark.parametrize("situation", LATE)
def test_the_last_attempt_that_ended_by_expiry_may_be_completed_and_has_lost_its_lease_otherwise(
    api: Api, situation: str, verb: str
) -> None:
    told = tell(api, situation, verb, 1)

    if verb != "complete":
        assert_refused(told, "lease-lost", late=1)
        return
    reply, *done = told
    job = json_of(reply)
    assert (reply.status_code, job["status"], job["retry_count"]) == (200, "completed", 0)
    assert done == [True, 1]


@every_verb
@pytest.mark.parametrize(
    ("situation", "attempt"),
    [
        *((early, attempt) for early in ("enqueued", "enqueued cancel") for attempt in (None, 1)),
        ("enqueued claimed complete", None),
        ("enqueued claimed complete", 2),
        ("enqueued claimed fail", None),
        ("enqueued claimed fail-for-good", None),
        ("enqueued claimed cancel fail", None),
        ("enqueued claimed release", None),
        ("enqueued claimed-by-another complete-by-another", 1),
        ("enqueued claimed-by-another lease-over settled", 1),
        *((late, attempt) for late in LATE for attempt in (None, 2)),
        (f"{LATE[1]} redriven", 1),
        (f"{LATE[2]} redriven", 1),
        (f"{EXPIRED} claimed-by-another fail-for-good-by-another", 1),
    ],
)
def test_anything_else_is_a_conflict(
    api: Api, situation: str, attempt: int | None, verb: str
) -> None:
    """B20: an old attempt never wakes a job that has ended."""
    assert_refused(tell(api, situation, verb, attempt), "conflict")
