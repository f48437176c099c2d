"""A heartbeat extends the lease of a running job, never beyond the longest run of its type."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.clock import format_instant
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import NOON, FakeClock
from tests.support.http import Api, assert_problem, faults, json_of

LEASE, LONGEST = 300, 3600


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


@pytest.fixture
def job(api: Api) -> Any:
    """Claimed at noon for 300 s; its type may run for an hour."""
    api.enqueue()
    return api.claim()


def wait_until(api: Api, seconds: float) -> None:
    api.clock.now = NOON + round(seconds * 1000)


def beat(api: Api, job: Any, **body: Any) -> TestResponse:
    return api.report("heartbeat", job, **body)


def beat_until(api: Api, job: Any, seconds: int) -> None:
    """Heartbeats that keep the job running until then."""
    for second in range(200, seconds, 200):
        wait_until(api, second)
        assert beat(api, job).status_code == 200
    wait_until(api, seconds)


def test_a_heartbeat_answers_with_the_lease_and_whether_to_stop(api: Api, job: Any) -> None:
    wait_until(api, 100)

    reply = beat(api, job)

    assert reply.status_code == 200
    assert json_of(reply) == {
        "lease_expires_at": at(400),
        "lease_seconds_remaining": 300,
        "cancel_requested": False,
    }


def test_a_heartbeat_changes_the_end_of_the_lease_and_nothing_else(api: Api, job: Any) -> None:
    before = api.get(job)
    wait_until(api, 100)

    beat(api, job)

    assert api.get(job) == before | {"lease_expires_at": at(400), "updated_at": at(100)}


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ({}, 100 + 120),
        ({"extend_seconds": None}, 100 + 120),
        ({"extend_seconds": 1}, 120),
        ({"extend_seconds": 20}, 120),
        ({"extend_seconds": 21}, 121),
        ({"extend_seconds": 1000}, 1100),
        ({"extend_seconds": 43200}, 43200),
    ],
)
def test_the_lease_ends_at_the_later_of_its_end_and_now_and_the_extension(
    store: Store, clock: FakeClock, body: Any, end: int
) -> None:
    """Absent, the extension is the lease of the type."""
    api = Api(
        store, clock, JobTypes({"email": Policy(lease_seconds=120, max_runtime_seconds=43200)})
    )
    api.enqueue()
    job = api.claim()
    wait_until(api, 100)

    reply = beat(api, job, **body)

    assert json_of(reply)["lease_expires_at"] == at(end) == api.get(job)["lease_expires_at"]
    assert json_of(reply)["lease_seconds_remaining"] == end - 100


def test_a_heartbeat_that_extends_nothing_writes_nothing(api: Api, job: Any) -> None:
    before = api.get(job)
    wait_until(api, 100)

    assert beat(api, job, extend_seconds=200).status_code == 200

    assert api.get(job) == before


def test_a_heartbeat_repeated_in_the_same_instant_is_answered_as_the_first_time(
    api: Api, job: Any
) -> None:
    wait_until(api, 100)
    first = beat(api, job)
    before = api.get(job)

    again = beat(api, job)

    assert (again.status_code, again.data) == (200, first.data)
    assert api.get(job) == before


def test_the_seconds_that_remain_are_rounded_down(api: Api, job: Any) -> None:
    wait_until(api, 0.001)

    reply = beat(api, job, extend_seconds=1)

    assert json_of(reply)["lease_seconds_remaining"] == 299


@pytest.mark.parametrize("extend", [101, 300, 43200])
def test_a_lease_never_ends_after_the_longest_run(api: Api, job: Any, extend: int) -> None:
    beat_until(api, job, LONGEST - 100)

    reply = beat(api, job, extend_seconds=extend)

    assert reply.status_code == 200
    assert json_of(reply)["lease_expires_at"] == at(LONGEST)
    assert json_of(reply)["lease_seconds_remaining"] == 100


@pytest.mark.parametrize(("waited", "status"), [(LONGEST - 0.001, 200), (LONGEST, 409)])
def test_the_deadline_is_exceeded_at_its_instant(
    api: Api, job: Any, waited: float, status: int
) -> None:
    """B27: no heartbeat keeps a hung job alive for ever."""
    beat_until(api, job, LONGEST - 100)
    beat(api, job)
    before = api.get(job)
    wait_until(api, waited)

    reply = beat(api, job)

    assert reply.status_code == status
    if status == 409:
        assert_problem(reply, 409, "deadline-exceeded")
    assert api.get(job) == before
    assert (api.claim("other-worker") is None) == (status == 200)


def test_each_attempt_has_the_longest_run_for_itself(api: Api, job: Any) -> None:
    beat_until(api, job, LONGEST - 100)
    api.report("release", job)
    again = api.claim()

    reply = beat(api, again, extend_seconds=LONGEST)

    assert json_of(reply)["lease_seconds_remaining"] == LONGEST


@pytest.mark.parametrize("attempt", [None, 1])
def test_a_lease_that_ran_out_and_that_nobody_settled_is_extended(
    api: Api, job: Any, attempt: int | None
) -> None:
    wait_until(api, LEASE + 50)

    reply = beat(api, job, attempt=attempt)

    assert json_of(reply)["lease_expires_at"] == at(LEASE + 50 + LEASE)
    assert api.claim("other-worker") is None


@pytest.mark.parametrize("taken", [True, False])
def test_a_lease_that_was_settled_is_lost(api: Api, job: Any, taken: bool) -> None:
    wait_until(api, LEASE)
    api.queue.leases.recover(1)
    if taken:
        api.claim("other-worker")
    before = api.get(job)

    reply = beat(api, job)

    assert_problem(reply, 409, "lease-lost")
    assert api.get(job) == before


@pytest.mark.parametrize("extend", [1, 300])
def test_a_heartbeat_tells_that_the_job_is_to_be_cancelled(api: Api, job: Any, extend: int) -> None:
    api.call("POST", "/jobs/1/cancel", "producer")
    wait_until(api, 100)

    reply = beat(api, job, extend_seconds=extend)

    assert json_of(reply)["cancel_requested"] is True


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("extend_seconds", 0, "out-of-range"),
        ("extend_seconds", -1, "out-of-range"),
        ("extend_seconds", 43201, "out-of-range"),
        ("extend_seconds", 5.0, "wrong-type"),
        ("extend_seconds", "5", "wrong-type"),
        ("extend_seconds", True, "wrong-type"),
        ("attempt", 0, "out-of-range"),
        ("attempt", "1", "wrong-type"),
        ("delay_seconds", 1, "unknown"),
    ],
)
def test_a_field_out_of_its_limits_is_refused(
    api: Api, job: Any, field: str, value: Any, fault: str
) -> None:
    before = api.get(job)

    reply = beat(api, job, **{field: value})

    assert faults(reply) == [(field, fault)]
    assert api.get(job) == before
