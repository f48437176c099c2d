"""POST /jobs: what a new job looks like, and who may ask for what."""

import pytest

from queuelog_core.job import Priority
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem, faults, json_of, shipped_types


def test_a_new_job_shows_all_fields(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email"})

    assert reply.status_code == 201
    assert json_of(reply) == {
        "id": 1,
        "type": "email",
        "payload": {},
        "priority": "medium",
        "status": "pending",
        "retry_count": 0,
        "max_retries": 3,
        "idempotency_key": None,
        "claimed_at": None,
        "worker_id": None,
        "error": None,
        "created_at": "2026-11-29T12:00:00.000Z",
        "updated_at": "2026-11-29T12:00:00.000Z",
        "run_at": "2026-11-29T12:00:00.000Z",
        "attempt": 0,
        "lease_expires_at": None,
        "release_count": 0,
        "producer_id": "shop",
        "error_code": None,
        "result": None,
        "finished_at": None,
        "cancel_requested_at": None,
    }


def test_a_new_job_keeps_what_was_asked_for(api: Api) -> None:
    asked = {
        "type": "pdf",
        "payload": {"page": 1},
        "priority": "high",
        "max_retries": 25,
        "idempotency_key": "k",
    }

    job = json_of(api.call("POST", "/jobs", "producer", asked))

    assert job == job | asked


def test_the_answer_names_the_place_of_the_job(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email"})

    assert reply.headers["Location"] == "/jobs/1"
    assert api.call("GET", reply.headers["Location"], "producer").data == reply.data


def test_an_admin_enqueues_as_itself(api: Api) -> None:
    job = api.enqueue("admin", priority="critical")

    assert (job["producer_id"], job["priority"]) == ("root", "critical")


def test_retries_that_are_not_asked_for_are_those_of_the_type(
    store: Store, clock: FakeClock
) -> None:
    api = Api(store, clock, shipped_types())

    assert api.enqueue()["max_retries"] == 5
    assert api.enqueue(job_type="pdf")["max_retries"] == 3


@pytest.mark.parametrize("label", ["HIGH", "High", "hIgH"])
def test_priorities_are_read_in_any_case_and_shown_in_lower(api: Api, label: str) -> None:
    assert api.enqueue(priority=label)["priority"] == "high"


@pytest.mark.parametrize(
    ("key", "label"), [("producer", "medium"), ("low-producer", "low"), ("admin", "medium")]
)
def test_the_priority_not_asked_for_is_medium_or_the_cap_below_it(
    api: Api, key: str, label: str
) -> None:
    assert api.enqueue(key)["priority"] == label


@pytest.mark.parametrize(
    ("key", "label"),
    [("producer", "critical"), ("low-producer", "medium"), ("low-producer", "CRITICAL")],
)
def test_a_priority_above_the_cap_is_forbidden(api: Api, key: str, label: str) -> None:
    reply = api.call("POST", "/jobs", key, {"type": "email", "priority": label})

    assert_problem(reply, 403, "priority-not-allowed")
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


def test_a_type_the_key_may_not_use_is_forbidden(api: Api) -> None:
    reply = api.call("POST", "/jobs", "email-producer", {"type": "pdf"})

    assert_problem(reply, 403, "forbidden")


def test_a_retired_type_is_refused_like_an_unknown_one(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, JobTypes({"email": Policy(), "telex": Policy(accept=False)}))

    retired = api.call("POST", "/jobs", "producer", {"type": "telex"})
    unknown = api.call("POST", "/jobs", "producer", {"type": "fax"})

    assert faults(retired) == faults(unknown) == [("type", "not-allowed")]


def test_a_type_may_cap_its_priorities(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, JobTypes({"email": Policy(priority_max=Priority.LOW)}))

    refused = api.call("POST", "/jobs", "admin", {"type": "email", "priority": "medium"})

    assert_problem(refused, 403, "priority-not-allowed")
    assert api.enqueue("admin")["priority"] == "low"
