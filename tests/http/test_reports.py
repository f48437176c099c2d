"""Complete and fail: the table of reports, row by row, for both verbs."""

from collections.abc import Callable
from typing import Any

import pytest

from queuelog_core import transitions
from tests.support.http import Api, assert_problem, json_of

LEASE_SECONDS = 300
Situation = Callable[[Api], None]


def pending(api: Api) -> None:
    api.enqueue()


def held(api: Api) -> None:
    api.enqueue()
    api.claim()


def overdue(api: Api) -> None:
    held(api)
    api.clock.advance(LEASE_SECONDS)


def held_by_another(api: Api) -> None:
    api.enqueue()
    api.claim("other-worker")


def expired(api: Api) -> None:
    overdue(api)
    api.queue.leases.recover(1)


def expired_for_good(api: Api) -> None:
    api.enqueue(max_retries=0)
    api.claim()
    api.clock.advance(LEASE_SECONDS)
    api.queue.leases.recover(1)


def expired_and_claimed_by_another(api: Api) -> None:
    expired(api)
    api.claim("other-worker")


def expired_and_claimed_again(api: Api) -> None:
    """B23: one key, two attempts."""
    expired(api)
    api.claim()


def expired_and_failed_by_another(api: Api) -> None:
    """B20: the old attempt comes back when the job has ended."""
    expired(api)
    api.report("fail", api.claim("other-worker"), "other-worker", retryable=False)


def expired_and_redriven(api: Api) -> None:
    expired_for_good(api)
    api.store.update(1, lambda job: transitions.redrive(job, api.clock(), "root"))


def expired_under_another(api: Api) -> None:
    held_by_another(api)
    api.clock.advance(LEASE_SECONDS)
    api.queue.leases.recover(1)


def completed(api: Api) -> None:
    held(api)
    api.report("complete", {"id": 1, "attempt": 1}, result={"by": "the first"})


def failed_once(api: Api) -> None:
    held(api)
    api.report("fail", {"id": 1, "attempt": 1}, error_code="the_first")


def failed_for_good(api: Api) -> None:
    held(api)
    api.report("fail", {"id": 1, "attempt": 1}, error_code="the_first", retryable=False)


def failed_and_claimed_by_another(api: Api) -> None:
    failed_once(api)
    api.claim("other-worker")


def completed_by_another(api: Api) -> None:
    held_by_another(api)
    api.report("complete", {"id": 1, "attempt": 1}, "other-worker")


def cancelled(api: Api) -> None:
    pending(api)
    api.store.update(1, lambda job: transitions.cancel(job, api.clock()))


def nothing(_: Api) -> None:
    return None


BOTH_VERBS: list[tuple[Situation, int | None, str]] = [
    (nothing, None, "conflict"),
    (nothing, 1, "conflict"),
    (completed, 1, "already-reported"),
    (failed_once, 1, "already-reported"),
    (failed_for_good, 1, "already-reported"),
    (failed_and_claimed_by_another, 1, "already-reported"),
    (held, 2, "lease-lost"),
    (held_by_another, 2, "lease-lost"),
    (expired_and_claimed_again, 1, "lease-lost"),
    (expired_and_claimed_by_another, 1, "lease-lost"),
    (held_by_another, None, "not-owner"),
    (held_by_another, 1, "not-owner"),
    (expired_and_claimed_by_another, 2, "not-owner"),
    (expired_and_claimed_by_another, None, "not-owner"),
    (pending, None, "conflict"),
    (pending, 1, "conflict"),
    (completed, None, "conflict"),
    (completed, 2, "conflict"),
    (failed_for_good, None, "conflict"),
    (completed_by_another, 1, "conflict"),
    (expired, None, "conflict"),
    (expired, 2, "conflict"),
    (expired_under_another, 1, "conflict"),
    (expired_and_failed_by_another, 1, "conflict"),
    (expired_and_redriven, 1, "conflict"),
    (cancelled, None, "conflict"),
    (cancelled, 1, "conflict"),
]


def send(api: Api, verb: str, attempt: int | None, key: str = "worker") -> Any:
    body = {} if attempt is None else {"attempt": attempt}
    return api.call("POST", f"/jobs/1/{verb}", key, body)


@pytest.mark.parametrize("verb", ["complete", "fail"])
@pytest.mark.parametrize(("situation", "attempt", "code"), BOTH_VERBS)
def test_a_report_that_does_not_fit_is_refused_and_changes_nothing(
    api: Api, situation: Situation, attempt: int | None, code: str, verb: str
) -> None:
    situation(api)
    before = api.call("GET", "/jobs/1").data
    api.clock.advance(1)

    reply = send(api, verb, attempt)

    assert_problem(reply, 409, code)
    if situation is not nothing:
        assert api.call("GET", "/jobs/1").data == before


@pytest.mark.parametrize("situation", [expired, expired_for_good])
def test_a_late_failure_has_lost_its_lease(api: Api, situation: Situation) -> None:
    situation(api)
    before = api.get({"id": 1})

    reply = send(api, "fail", 1)

    assert_problem(reply, 409, "lease-lost")
    assert api.get({"id": 1}) == before


@pytest.mark.parametrize("attempt", [None, 1])
@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_report_on_a_job_of_a_hidden_type_is_a_conflict(
    api: Api, verb: str, attempt: int | None
) -> None:
    api.enqueue()
    api.claim("admin")

    reply = send(api, verb, attempt, "pdf-worker")

    assert_problem(reply, 409, "conflict")


@pytest.mark.parametrize("key", ["worker", "other-worker"])
def test_the_holder_is_never_named(api: Api, key: str) -> None:
    held_by_another(api)

    reply = send(api, "complete", 1 if key == "worker" else 2, key)

    assert b"printer" not in reply.data


@pytest.mark.parametrize("attempt", [None, 1])
@pytest.mark.parametrize("situation", [held, overdue])
@pytest.mark.parametrize(("verb", "status"), [("complete", "completed"), ("fail", "pending")])
def test_the_holder_reports_even_if_its_lease_has_run_out(
    api: Api, situation: Situation, attempt: int | None, verb: str, status: str
) -> None:
    situation(api)

    reply = send(api, verb, attempt)

    assert reply.status_code == 200
    assert json_of(reply)["status"] == status
    assert "Idempotent-Replayed" not in reply.headers


def test_an_admin_reports_only_on_what_it_claimed(api: Api) -> None:
    held(api)

    reply = send(api, "complete", 1, "admin")

    assert_problem(reply, 409, "not-owner")
