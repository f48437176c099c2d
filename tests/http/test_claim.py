"""POST /jobs/claim: what it takes, what it gives, and what an empty answer says."""

from typing import Any

import pytest

from queuelog_core.stores import Store
from tests.support.factories import NOON, FakeClock, producer, worker
from tests.support.http import KEYS, Api, assert_problem, faults, shipped_types


def test_a_claimed_job_is_running_and_the_callers(api: Api) -> None:
    api.enqueue(payload={"to": "ada@example.com"})
    api.clock.advance(5)

    job = api.claim()

    assert job["status"] == "running"
    assert job["worker_id"] == "mailer"
    assert job["attempt"] == 1
    assert job["claimed_at"] == job["updated_at"] == "2026-11-29T12:00:05.000Z"
    assert job["lease_expires_at"] == "2026-11-29T12:05:05.000Z"
    assert job["run_at"] == job["created_at"] == "2026-11-29T12:00:00.000Z"
    assert job["payload"] == {"to": "ada@example.com"}


def test_a_worker_id_in_the_body_changes_nothing(api: Api) -> None:
    api.enqueue()

    job = api.claim(worker_id="printer")

    assert job["worker_id"] == "mailer"


@pytest.mark.parametrize("value", [None, 5, {"a": [1]}, "x" * 1000])
def test_a_worker_id_of_any_kind_is_ignored(api: Api, value: Any) -> None:
    reply = api.call("POST", "/jobs/claim", "worker", {"worker_id": value})

    assert reply.status_code == 204


@pytest.mark.parametrize(
    ("types", "fault"),
    [
        ([], "wrong-length"),
        ("email", "wrong-type"),
        ({"email": 1}, "wrong-type"),
        ([5], "wrong-type"),
        ([None], "wrong-type"),
        ([True], "wrong-type"),
        ([["email"]], "wrong-type"),
        ([""], "wrong-length"),
        (["email", "fax"], "not-allowed"),
        (["Email"], "not-allowed"),
    ],
)
def test_types_that_are_no_list_of_known_types_are_refused(
    api: Api, types: Any, fault: str
) -> None:
    reply = api.call("POST", "/jobs/claim", "worker", {"types": types})

    assert faults(reply) == [("types", fault)]


def test_a_type_the_key_may_not_run_is_forbidden(api: Api) -> None:
    reply = api.call("POST", "/jobs/claim", "pdf-worker", {"types": ["pdf", "email"]})

    assert_problem(reply, 403, "forbidden")


@pytest.mark.parametrize("field", ["max", "priority", "queue"])
def test_a_field_that_does_not_exist_is_refused(api: Api, field: str) -> None:
    reply = api.call("POST", "/jobs/claim", "worker", {field: 1})

    assert faults(reply) == [(field, "unknown")]


@pytest.mark.parametrize("seconds", [1, 60, 3600])
def test_a_lease_may_be_asked_for(api: Api, seconds: int) -> None:
    job = api.enqueue()

    api.claim(lease_seconds=seconds)

    found = api.store.get(job["id"])
    assert found is not None
    assert found.lease_expires_at == NOON + seconds * 1000


@pytest.mark.parametrize(
    ("seconds", "fault"),
    [
        (0, "out-of-range"),
        (-1, "out-of-range"),
        (3601, "out-of-range"),
        (43_201, "out-of-range"),
        (31_536_000, "out-of-range"),
        (10**12, "out-of-range"),
        (2**63, "out-of-range"),
        (1e12, "wrong-type"),
        (60.0, "wrong-type"),
        ("60", "wrong-type"),
        (True, "wrong-type"),
        ([60], "wrong-type"),
    ],
)
def test_a_lease_out_of_its_limits_is_refused(api: Api, seconds: Any, fault: str) -> None:
    """B30."""
    api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", {"lease_seconds": seconds})

    assert faults(reply) == [("lease_seconds", fault)]
    assert api.get({"id": 1})["status"] == "pending"


@pytest.mark.parametrize(("name", "most"), [("email", 3600), ("sync", 14_400)])
def test_the_longest_lease_is_the_longest_run_time_of_the_type(
    store: Store, clock: FakeClock, name: str, most: int
) -> None:
    api = Api(store, clock, shipped_types())
    api.enqueue(job_type=name)

    refused = api.call(
        "POST", "/jobs/claim", "worker", {"types": [name], "lease_seconds": most + 1}
    )
    given = api.claim(types=[name], lease_seconds=most)

    assert faults(refused) == [("lease_seconds", "out-of-range")]
    assert given["id"] == 1


def test_a_lease_not_asked_for_is_that_of_the_type(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, shipped_types())
    api.enqueue(job_type="sync")

    job = api.claim()

    assert job["lease_expires_at"] == "2026-11-29T12:15:00.000Z"


def test_nothing_due_is_told_without_a_body(api: Api) -> None:
    reply = api.call("POST", "/jobs/claim", "worker", {})

    assert reply.status_code == 204
    assert reply.data == b""
    assert "Content-Type" not in reply.headers
    assert 1 <= int(reply.headers["Retry-After"]) <= 20


@pytest.mark.parametrize("delay", [1, 2, 3600])
def test_the_wait_that_is_told_does_not_pass_the_next_due_job_by_far(api: Api, delay: int) -> None:
    api.enqueue(delay_seconds=delay)

    reply = api.call("POST", "/jobs/claim", "worker", {})

    assert 1 <= int(reply.headers["Retry-After"]) <= min(delay, 20)


def test_a_key_whose_types_have_all_left_the_registry_gets_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KEYS, "worker", worker(types=frozenset({"telex"})))

    reply = api.call("POST", "/jobs/claim", "worker", {})

    assert reply.status_code == 204


def test_a_producer_may_not_claim(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "mailer", producer("mailer"))

    reply = api.call("POST", "/jobs/claim", "mailer", {})

    assert_problem(reply, 403, "forbidden")


def test_an_admin_claims_as_itself(api: Api) -> None:
    api.enqueue()

    assert api.claim("admin")["worker_id"] == "root"
