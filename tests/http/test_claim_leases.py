"""A claim settles the leases that ran out before it looks for a due job."""

from typing import Any

import pytest

from queuelog_core import transitions
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, pending_job
from tests.support.http import Api, json_of, shipped_types

LEASE_SECONDS = 300


def hold(api: Api, number: int, *, seconds_apart: float = 0.0, **fields: Any) -> None:
    """That many running jobs, the first with the lease that ends first."""
    api.store.insert_many([pending_job(api.clock(), **fields) for _ in range(number)])
    for _ in range(number):
        api.claim("admin", types=[fields.get("type", "email")])
        api.clock.advance(seconds_apart)


def statuses(api: Api, number: int) -> list[str]:
    return [api.get({"id": job_id})["status"] for job_id in range(1, number + 1)]


def test_until_it_is_settled_an_overdue_job_reads_as_running(api: Api) -> None:
    hold(api, 1)
    api.clock.advance(10 * LEASE_SECONDS)

    job = api.get({"id": 1})

    assert job["status"] == "running"
    assert job["lease_expires_at"] == "2026-11-29T12:05:00.000Z"


@pytest.mark.parametrize(("waited", "attempt"), [(LEASE_SECONDS - 0.001, None), (LEASE_SECONDS, 2)])
def test_a_lease_ends_at_its_instant(api: Api, waited: float, attempt: int | None) -> None:
    hold(api, 1)
    api.clock.advance(waited)

    job = api.claim()

    assert (job and job["attempt"]) == attempt


def test_a_settled_lease_is_a_failed_attempt(api: Api) -> None:
    """B22: pending again, with one retry spent."""
    hold(api, 1)
    api.clock.advance(LEASE_SECONDS + 7)

    job = api.claim()

    assert job["error_code"] == "lease_expired"
    assert job["retry_count"] == 1
    assert job["attempt"] == 2
    assert job["run_at"] == "2026-11-29T12:05:00.000Z"


def test_the_backoff_counts_from_the_end_of_the_lease(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, shipped_types())
    hold(api, 1)
    clock.advance(LEASE_SECONDS + 1)

    reply = api.call("POST", "/jobs/claim", "worker", {})
    job = api.get({"id": 1})

    assert reply.status_code == 204
    assert reply.headers["Retry-After"] == "1"
    assert (job["status"], job["run_at"]) == ("pending", "2026-11-29T12:05:02.000Z")
    assert (job["claimed_at"], job["worker_id"], job["lease_expires_at"]) == (None, None, None)


def test_a_settled_lease_without_retries_left_ends_the_job(api: Api) -> None:
    hold(api, 1, max_retries=0)
    api.clock.advance(LEASE_SECONDS + 7)

    given = api.claim()
    job = api.get({"id": 1})

    assert given is None
    assert (job["status"], job["retry_count"]) == ("failed", 0)
    assert (job["error_code"], job["error"]) == ("lease_expired", None)
    assert job["finished_at"] == "2026-11-29T12:05:07.000Z"
    assert (job["worker_id"], job["claimed_at"]) == ("root", "2026-11-29T12:00:00.000Z")


def test_a_settled_lease_of_a_job_that_was_to_be_cancelled_cancels_it(api: Api) -> None:
    hold(api, 1)
    api.store.update(1, lambda job: transitions.cancel(job, api.clock()))
    api.clock.advance(LEASE_SECONDS)

    given = api.claim()
    job = api.get({"id": 1})

    assert given is None
    assert (job["status"], job["error_code"]) == ("cancelled", "lease_expired")


def test_a_job_that_kills_its_workers_ends_as_failed(api: Api) -> None:
    """B21: the attempt is counted when it is given out."""
    api.enqueue(max_retries=3)
    attempts = []

    while (job := api.claim()) is not None:
        attempts.append(job["attempt"])
        api.clock.advance(LEASE_SECONDS)

    assert attempts == [1, 2, 3, 4]
    assert api.get({"id": 1})["status"] == "failed"


def test_a_claim_settles_only_types_that_it_may_give(api: Api) -> None:
    hold(api, 1)
    api.clock.advance(LEASE_SECONDS)

    given = api.claim("pdf-worker")

    assert given is None
    assert api.get({"id": 1})["status"] == "running"


def test_a_claim_settles_only_types_that_it_asks_for(api: Api) -> None:
    hold(api, 1)
    api.clock.advance(LEASE_SECONDS)

    given = api.claim(types=["pdf"])

    assert given is None
    assert api.get({"id": 1})["status"] == "running"


def test_a_claim_that_finds_a_job_settles_the_sixteen_oldest_leases(api: Api) -> None:
    hold(api, 20, seconds_apart=0.001, max_retries=0)
    api.clock.advance(LEASE_SECONDS)
    api.enqueue()

    given = api.claim()

    assert given["id"] == 21
    assert statuses(api, 20) == ["failed"] * 16 + ["running"] * 4


def test_a_claim_settles_sixteen_leases_of_each_type(api: Api) -> None:
    hold(api, 20, max_retries=0)
    hold(api, 20, max_retries=0, type="pdf")
    api.clock.advance(LEASE_SECONDS)
    api.enqueue()

    given = api.claim()

    assert given["id"] == 41
    assert json_of(api.call("GET", "/stats"))["expired_leases"]["count"] == 8


def test_a_claim_that_finds_nothing_goes_on_to_sixty_four_leases(api: Api) -> None:
    hold(api, 70, seconds_apart=0.001, max_retries=0)
    api.clock.advance(LEASE_SECONDS)

    first = api.claim()
    after_first = statuses(api, 70)
    second = api.claim()

    assert (first, second) == (None, None)
    assert after_first == ["failed"] * 64 + ["running"] * 6
    assert statuses(api, 70) == ["failed"] * 70


def test_a_claim_goes_on_settling_until_it_finds_a_job(api: Api) -> None:
    hold(api, 20, seconds_apart=0.001, max_retries=0)
    hold(api, 1)
    api.clock.advance(LEASE_SECONDS)

    given = api.claim()

    assert (given["id"], given["attempt"]) == (21, 2)


def test_a_due_job_of_higher_priority_goes_before_a_settled_one(api: Api) -> None:
    hold(api, 1)
    api.clock.advance(LEASE_SECONDS)
    high = api.enqueue(priority="high")

    first = api.claim()
    second = api.claim()

    assert [first["id"], second["id"]] == [high["id"], 1]


def test_a_settled_lease_keeps_the_error_text_of_no_earlier_failure(api: Api) -> None:
    api.enqueue()
    api.report("fail", api.claim(), error="boom", error_code="smtp_down")
    api.claim()
    api.clock.advance(LEASE_SECONDS)

    api.claim()
    job = api.get({"id": 1})

    assert (job["error"], job["error_code"]) == (None, "lease_expired")
