"""A redrive sends one dead job on its way again, its budget fresh and its last attempt void. What
comes of many at once is in test_redrive_races.py."""

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.clock import format_instant
from tests.support.factories import NOON, admin
from tests.support.http import KEYS, Api, assert_problem, faults, json_of

LEASE = 300
every_admin = pytest.mark.parametrize("key", ["admin", "other-admin"])


@pytest.fixture(autouse=True)
def another_admin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "other-admin", admin("wheel"))


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


def redrive(api: Api, key: str = "admin", job_id: int = 1, body: Any = None) -> TestResponse:
    return api.call("POST", f"/jobs/{job_id}/redrive", key, body)


def pending(api: Api) -> Any:
    return api.enqueue(delay_seconds=60)


def claimed(api: Api) -> Any:
    api.enqueue(priority="high", max_retries=2, idempotency_key="k", payload={"to": "ada"})
    return api.claim()


def completed(api: Api) -> None:
    api.report("complete", claimed(api), result="done")


def failed(api: Api) -> None:
    api.report("release", claimed(api))
    api.report("fail", api.claim(), error="first")
    api.report("fail", api.claim(), error="boom", error_code="boom", retryable=False)


def cancelled(api: Api) -> None:
    job = claimed(api)
    api.call("POST", "/jobs/1/cancel")
    api.report("fail", job, error="boom", error_code="boom")


def expired_for_good(api: Api) -> Any:
    api.enqueue(max_retries=0)
    job = api.claim()
    api.clock.advance(LEASE)
    api.queue.leases.recover(1)
    return job


@pytest.mark.parametrize("situation", [pending, claimed, completed])
def test_a_job_that_is_not_dead_is_not_redriven(api: Api, situation: Callable[[Api], Any]) -> None:
    """B51."""
    situation(api)
    before = api.get({"id": 1})
    api.clock.advance(10)

    assert_problem(redrive(api), 409, "conflict")
    assert api.get({"id": 1}) == before


@pytest.mark.parametrize("body", [None, {}])
@pytest.mark.parametrize("situation", [failed, cancelled])
def test_a_dead_job_is_pending_again_with_what_must_be_fresh_and_what_must_stay(
    api: Api, situation: Callable[[Api], Any], body: Any
) -> None:
    """B51."""
    situation(api)
    before = api.get({"id": 1})
    history = api.call("GET", "/jobs/1/attempts").data
    api.clock.advance(10)

    reply = redrive(api, body=body)

    assert reply.status_code == 200
    assert "Idempotent-Replayed" not in reply.headers
    assert json_of(reply) == before | {
        "status": "pending",
        "retry_count": 0,
        "release_count": 0,
        "run_at": at(10),
        "updated_at": at(10),
        "finished_at": None,
        "result": None,
        "cancel_requested_at": None,
        "claimed_at": None,
        "worker_id": None,
    }
    assert (before["error"], before["error_code"], before["priority"]) == ("boom", "boom", "high")
    assert api.call("GET", "/jobs/1/attempts").data == history
    assert api.claim()["attempt"] == before["attempt"] + 1


def test_a_job_that_was_cancelled_before_it_ran_is_redriven(api: Api) -> None:
    pending(api)
    api.call("POST", "/jobs/1/cancel")

    assert json_of(redrive(api))["run_at"] == at(0)
    assert api.claim()["attempt"] == 1


def test_a_redriven_job_has_all_its_retries_and_releases_again(api: Api) -> None:
    failed(api)
    redrive(api)

    for _ in range(20):
        assert json_of(api.report("release", api.claim()))["error_code"] == "boom"
    runs = 0
    while job := api.claim():
        runs += 1
        api.report("fail", job)

    assert (runs, api.get({"id": 1})["status"]) == (3, "failed")


@pytest.mark.parametrize(("redriven", "status"), [(False, 200), (True, 409)])
def test_a_redrive_makes_a_late_completion_a_conflict(
    api: Api, redriven: bool, status: int
) -> None:
    stale = expired_for_good(api)
    if redriven:
        redrive(api)

    reply = api.report("complete", stale)

    assert reply.status_code == status
    assert api.get({"id": 1})["status"] == ("pending" if redriven else "completed")


def test_the_same_admin_may_repeat_a_redrive_until_the_job_is_claimed(api: Api) -> None:
    failed(api)
    first = redrive(api)
    api.clock.advance(10)

    again = redrive(api)

    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert again.data == first.data


def test_another_admins_redrive_of_a_redriven_job_is_a_conflict(api: Api) -> None:
    failed(api)
    first = redrive(api)

    assert_problem(redrive(api, "other-admin"), 409, "conflict")
    assert api.call("GET", "/jobs/1").data == first.data


@every_admin
@pytest.mark.parametrize("then", [None, "release", "fail"])
def test_a_redrive_is_not_repeated_once_the_job_was_claimed(
    api: Api, then: str | None, key: str
) -> None:
    failed(api)
    redrive(api)
    job = api.claim()
    if then:
        api.report(then, job)
    before = api.get({"id": 1})

    assert_problem(redrive(api, key), 409, "conflict")
    assert api.get({"id": 1}) == before


@every_admin
def test_a_job_that_died_again_is_redriven_again(api: Api, key: str) -> None:
    failed(api)
    redrive(api)
    api.report("fail", api.claim(), retryable=False)

    reply = redrive(api, key)

    assert (reply.status_code, json_of(reply)["status"]) == (200, "pending")
    assert "Idempotent-Replayed" not in reply.headers


def test_a_job_that_does_not_exist_is_not_found(api: Api) -> None:
    assert_problem(redrive(api, job_id=999), 404, "not-found")


def test_redrive_takes_no_field(api: Api) -> None:
    failed(api)

    assert faults(redrive(api, body={"all": True})) == [("all", "unknown")]
