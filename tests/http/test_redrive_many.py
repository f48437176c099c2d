"""A redrive of many sends dead jobs on their way again: those that a filter means, oldest first."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.clock import format_instant
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import NOON, FakeClock
from tests.support.http import Api, assert_problem, faults, json_of

FAILED: dict[str, Any] = {"status": "failed"}
LIVING = {1, 2, 3}
"""A pending job, a running one and a completed one."""


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


def redrive(api: Api, **body: Any) -> TestResponse:
    return api.call("POST", "/jobs/redrive", "admin", body)


def done(api: Api, **body: Any) -> tuple[int, int, bool]:
    """Matched, redriven and more."""
    reply = redrive(api, **body)
    assert reply.status_code == 200, reply.get_data(as_text=True)
    assert list(json_of(reply)) == ["matched", "redriven", "more"]
    return tuple(json_of(reply).values())


def die(api: Api, job_type: str = "email", error_code: str = "boom") -> int:
    job_id: int = api.enqueue(job_type=job_type)["id"]
    job = api.claim(types=[job_type])
    api.report("fail", job, error_code=error_code, retryable=False)
    return job_id


def be_cancelled(api: Api, job_type: str = "email") -> int:
    job_id: int = api.enqueue(job_type=job_type)["id"]
    api.call("POST", f"/jobs/{job_id}/cancel")
    return job_id


def pending(api: Api) -> set[int]:
    jobs = json_of(api.call("GET", "/jobs?status=pending&limit=200"))["jobs"]
    return {job["id"] for job in jobs}


@pytest.fixture
def mixed(api: Api) -> Api:
    """Jobs 1 to 3 are living, 4 to 8 died, one second after the other."""
    api.enqueue(delay_seconds=9_999)
    for _ in range(2):
        api.enqueue()
    api.claim()
    api.report("complete", api.claim())
    die(api)
    api.clock.advance(1)
    die(api, "pdf")
    api.clock.advance(1)
    be_cancelled(api)
    api.clock.advance(1)
    die(api, error_code="smtp_down")
    api.clock.advance(1)
    be_cancelled(api, "pdf")
    return api


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ({"status": "failed"}, {4, 5, 7}),
        ({"status": "cancelled"}, {6, 8}),
        ({"status": "failed", "type": "pdf"}, {5}),
        ({"status": "cancelled", "type": "email"}, {6}),
        ({"status": "failed", "type": "sync"}, set()),
        ({"status": "failed", "error_code": "smtp_down"}, {7}),
        ({"status": "cancelled", "error_code": "smtp_down"}, set()),
        ({"status": "failed", "created_after": at(1)}, {5, 7}),
        ({"status": "failed", "created_after": at(1.001)}, {7}),
        ({"status": "failed", "created_before": at(1)}, {4}),
        ({"status": "failed", "created_before": at(1.001)}, {4, 5}),
        ({"status": "cancelled", "created_after": at(2), "created_before": at(4)}, {6}),
        ({"status": "failed", "type": "email", "error_code": "boom", "created_after": at(0)}, {4}),
        ({"status": "failed", "type": None, "error_code": None, "created_after": None}, {4, 5, 7}),
    ],
)
def test_each_field_of_the_filter_narrows_what_is_meant(
    mixed: Api, asked: Any, meant: set[int]
) -> None:
    before = pending(mixed)

    assert done(mixed, filter=asked) == (len(meant), len(meant), False)
    assert pending(mixed) - before == meant


@pytest.mark.parametrize(
    "asked", [{}, {"filter": {}}, {"filter": None}, {"filter": {"type": None}}]
)
def test_an_empty_filter_means_all_dead_jobs_and_must_say_so(mixed: Api, asked: Any) -> None:
    refused = [redrive(mixed, **asked), redrive(mixed, **asked, all=False)]
    assert [faults(reply) for reply in refused] == [[("all", "missing")]] * 2
    assert pending(mixed) == {1}

    assert done(mixed, **asked, all=True) == (5, 5, False)
    assert pending(mixed) == {1, 4, 5, 6, 7, 8}


def test_a_filter_together_with_all_still_narrows(mixed: Api) -> None:
    assert done(mixed, filter={"status": "cancelled"}, all=True) == (2, 2, False)


@pytest.mark.parametrize("name", ["lease_expired", "release_limit", "payload_lost"])
def test_the_servers_own_error_codes_may_be_asked_for(api: Api, name: str) -> None:
    api.enqueue(max_retries=0)
    api.claim(lease_seconds=1)
    api.clock.advance(1)
    api.queue.leases.recover(1)
    meant = int(name == "lease_expired")

    assert done(api, filter=FAILED | {"error_code": name}) == (meant, meant, False)


def test_the_oldest_go_first_and_more_tells_whether_to_go_on(api: Api) -> None:
    for _ in range(5):
        die(api)

    assert done(api, filter=FAILED, limit=2) == (2, 2, True)
    assert pending(api) == {1, 2}
    assert done(api, filter=FAILED, limit=2) == (2, 2, True)
    assert done(api, filter=FAILED, limit=2) == (1, 1, False)
    assert done(api, filter=FAILED, limit=2) == (0, 0, False)


def test_no_more_is_told_when_the_last_jobs_fill_the_limit(api: Api) -> None:
    for _ in range(2):
        die(api)

    assert done(api, filter=FAILED, limit=2) == (2, 2, False)


def test_the_order_is_that_of_creation_and_not_that_of_death(api: Api) -> None:
    for _ in range(3):
        api.enqueue()
    for job in reversed([api.claim() for _ in range(3)]):
        api.report("fail", job, retryable=False)
        api.clock.advance(1)

    done(api, filter=FAILED, limit=1)

    assert pending(api) == {1}


def test_without_a_limit_two_hundred_are_redriven(api: Api) -> None:
    for number in range(201):
        be_cancelled(api) if number else die(api)

    assert done(api, all=True, dry_run=True) == (200, 0, True)
    assert done(api, all=True) == (200, 200, True)
    assert done(api, all=True) == (1, 1, False)


def test_a_dry_run_counts_and_changes_nothing(mixed: Api) -> None:
    before = mixed.call("GET", "/jobs").data

    assert done(mixed, filter=FAILED, limit=2, dry_run=True) == (2, 0, True)
    assert done(mixed, filter=FAILED, dry_run=True) == (3, 0, False)
    assert mixed.call("GET", "/jobs").data == before


def test_each_job_becomes_what_its_own_redrive_would_make_of_it(api: Api) -> None:
    for _ in range(2):
        die(api)
    api.clock.advance(10)

    api.call("POST", "/jobs/1/redrive")
    done(api, filter=FAILED)

    one, other = api.get({"id": 1}), api.get({"id": 2})
    assert other == one | {"id": 2}
    assert api.call("POST", "/jobs/2/redrive").headers["Idempotent-Replayed"] == "true"


def test_a_redrive_of_many_makes_late_completions_a_conflict(api: Api) -> None:
    api.enqueue(max_retries=0)
    stale = api.claim()
    api.clock.advance(300)
    api.queue.leases.recover(1)
    done(api, filter=FAILED)

    assert_problem(api.report("complete", stale), 409, "conflict")


def test_a_repeat_finds_nothing_left(mixed: Api) -> None:
    done(mixed, all=True)
    before = mixed.call("GET", "/jobs").data
    mixed.clock.advance(1)

    assert done(mixed, all=True) == (0, 0, False)
    assert mixed.call("GET", "/jobs").data == before


def test_dead_jobs_of_a_retired_type_may_be_asked_for(store: Store, clock: FakeClock) -> None:
    be_cancelled(Api(store, clock))
    retired = Api(store, clock, JobTypes({"email": Policy(accept=False)}))

    assert done(retired, filter={"status": "cancelled", "type": "email"}) == (1, 1, False)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"filter": {"type": "email"}}, ("filter.status", "missing")),
        ({"filter": {"type": "email"}, "all": True}, ("filter.status", "missing")),
        ({"filter": {"status": "pending"}}, ("filter.status", "unknown-value")),
        ({"filter": {"status": "completed"}}, ("filter.status", "unknown-value")),
        ({"filter": FAILED | {"type": "fax"}}, ("filter.type", "not-allowed")),
        ({"filter": FAILED | {"type": 5}}, ("filter.type", "wrong-type")),
        ({"filter": FAILED | {"error_code": "Not A Slug"}}, ("filter.error_code", "wrong-format")),
        ({"filter": FAILED | {"created_after": "soon"}}, ("filter.created_after", "wrong-format")),
        ({"filter": FAILED | {"producer_id": "x"}}, ("filter.producer_id", "unknown")),
        ({"filter": []}, ("filter", "wrong-type")),
        ({"filter": FAILED, "limit": 0}, ("limit", "out-of-range")),
        ({"filter": FAILED, "limit": 201}, ("limit", "out-of-range")),
        ({"filter": FAILED, "limit": "5"}, ("limit", "wrong-type")),
        ({"filter": FAILED, "dry_run": 1}, ("dry_run", "wrong-type")),
        ({"all": "true"}, ("all", "wrong-type")),
        ({"filter": FAILED, "status": "failed"}, ("status", "unknown")),
    ],
)
def test_what_cannot_be_asked_is_refused_and_redrives_nothing(
    mixed: Api, body: Any, fault: tuple[str, str]
) -> None:
    assert faults(redrive(mixed, **body)) == [fault]
    assert pending(mixed) == {1}
