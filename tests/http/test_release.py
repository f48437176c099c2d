"""A release hands the job back: no retry spent, and its place kept unless a delay is asked for."""

from typing import Any

import pytest

from queuelog_core.clock import format_instant
from queuelog_core.job_types import Backoff, BackoffKind, JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import NOON, FakeClock
from tests.support.http import Api, faults, json_of

FREE = 20


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


@pytest.fixture
def job(api: Api) -> Any:
    """Claimed at noon."""
    api.enqueue()
    return api.claim()


def release_freely(api: Api, **fields: Any) -> Any:
    """A job that has been released as often as is free, and runs again."""
    api.enqueue(**fields)
    for count in range(1, FREE + 1):
        reply = api.report("release", api.claim())
        assert json_of(reply)["release_count"] == count
    return api.claim()


def test_a_released_job_is_pending_and_has_spent_no_retry(api: Api) -> None:
    api.enqueue()
    api.report("fail", api.claim(), error="boom", error_code="boom")
    job = api.claim()
    before = api.get(job)
    api.clock.advance(10)

    reply = api.report("release", job)

    assert reply.status_code == 200
    assert json_of(reply) == api.get(job, "worker")
    assert api.get(job) == before | {
        "status": "pending",
        "release_count": 1,
        "claimed_at": None,
        "worker_id": None,
        "lease_expires_at": None,
        "updated_at": at(10),
    }
    assert (before["retry_count"], before["error"], before["attempt"]) == (1, "boom", 2)


@pytest.mark.parametrize("body", [{}, {"delay_seconds": 0}, {"delay_seconds": None}])
def test_without_a_delay_a_released_job_keeps_its_place(api: Api, job: Any, body: Any) -> None:
    api.clock.advance(10)
    api.enqueue()

    released = json_of(api.report("release", job, **body))

    assert released["run_at"] == released["created_at"] == at(0)
    assert api.claim()["id"] == job["id"]


@pytest.mark.parametrize("delay", [1, 86_400])
def test_a_delay_counts_from_the_release(api: Api, job: Any, delay: int) -> None:
    api.clock.advance(10)

    released = json_of(api.report("release", job, delay_seconds=delay))

    assert released["run_at"] == at(10 + delay)
    api.clock.advance(delay - 0.001)
    assert api.claim() is None
    api.clock.advance(0.001)
    assert api.claim()["attempt"] == 2


def test_a_lease_that_ran_out_and_that_nobody_settled_may_be_released(api: Api, job: Any) -> None:
    api.clock.advance(1_000)

    released = json_of(api.report("release", job))

    assert (released["status"], released["retry_count"], released["run_at"]) == (
        "pending",
        0,
        at(0),
    )


def test_a_release_in_an_attempt_before_is_repeated_without_another_count(
    api: Api, job: Any
) -> None:
    api.report("release", job)
    api.claim("other-worker")

    again = api.report("release", job)

    assert again.headers["Idempotent-Replayed"] == "true"
    assert (json_of(again)["status"], json_of(again)["release_count"]) == ("running", 1)


def test_the_release_after_twenty_is_a_failure(api: Api) -> None:
    job = release_freely(api)

    released = json_of(api.report("release", job, delay_seconds=9))

    assert (released["status"], released["error_code"]) == ("pending", "release_limit")
    assert (released["retry_count"], released["release_count"]) == (1, FREE)
    assert json_of(api.call("GET", "/jobs/1/attempts"))["attempts"][-1] == {
        "attempt": 21,
        "worker_id": "mailer",
        "claimed_at": at(0),
        "ended_at": at(0),
        "outcome": "failed",
        "error_code": "release_limit",
        "error": None,
    }


def test_the_release_after_twenty_of_a_job_without_retries_ends_it(api: Api) -> None:
    job = release_freely(api, max_retries=0)

    released = json_of(api.report("release", job))

    assert (released["status"], released["retry_count"]) == ("failed", 0)
    assert (released["error_code"], released["finished_at"]) == ("release_limit", at(0))


def test_the_release_after_twenty_waits_for_the_backoff_and_not_for_the_delay(
    store: Store, clock: FakeClock
) -> None:
    backoff = Backoff(kind=BackoffKind.FIXED, base_seconds=60, max_seconds=60)
    api = Api(store, clock, JobTypes({"email": Policy(backoff=backoff)}))
    job = release_freely(api)

    released = json_of(api.report("release", job, delay_seconds=9))

    assert released["run_at"] == at(60)


def test_every_release_beyond_the_free_ones_spends_a_retry_until_the_job_has_failed(
    api: Api,
) -> None:
    job = release_freely(api, max_retries=2)

    spent = [json_of(api.report("release", job))["retry_count"]]
    while job := api.claim():
        spent.append(json_of(api.report("release", job))["retry_count"])

    assert spent == [1, 2, 2]
    assert api.get({"id": 1})["status"] == "failed"


def test_a_release_when_cancel_was_asked_ends_the_job(api: Api, job: Any) -> None:
    api.call("POST", "/jobs/1/cancel")
    api.clock.advance(10)

    released = json_of(api.report("release", job, delay_seconds=9))

    assert (released["status"], released["finished_at"]) == ("cancelled", at(10))
    assert (released["error_code"], released["retry_count"]) == (None, 0)
    assert (released["worker_id"], released["claimed_at"]) == ("mailer", at(0))
    assert released["lease_expires_at"] is None


def test_a_release_when_cancel_was_asked_is_no_failure_after_twenty_either(api: Api) -> None:
    job = release_freely(api)
    api.call("POST", "/jobs/1/cancel")

    released = json_of(api.report("release", job))

    assert (released["status"], released["error_code"]) == ("cancelled", None)


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("delay_seconds", -1, "out-of-range"),
        ("delay_seconds", 86_401, "out-of-range"),
        ("delay_seconds", 1.0, "wrong-type"),
        ("delay_seconds", "1", "wrong-type"),
        ("delay_seconds", False, "wrong-type"),
        ("attempt", 0, "out-of-range"),
        ("extend_seconds", 1, "unknown"),
    ],
)
def test_a_field_out_of_its_limits_is_refused(
    api: Api, job: Any, field: str, value: Any, fault: str
) -> None:
    before = api.get(job)

    reply = api.report("release", job, **{field: value})

    assert faults(reply) == [(field, fault)]
    assert api.get(job) == before
