"""GET /stats and /whoami: exact shapes, capped counts, and each role sees its part."""

from typing import Any

import pytest

from queuelog_core.stores import Store
from tests.support.engines import counts_exactly
from tests.support.factories import NOON, pending_job, worker
from tests.support.http import KEYS, Api, assert_problem, json_of

NONE_OF_ANY = {"pending": 0, "running": 0, "completed": 0, "failed": 0, "cancelled": 0}
NONE = {"count": 0, "capped": False}


def stats(api: Api, key: str = "admin") -> Any:
    reply = api.call("GET", "/stats", key)
    assert reply.status_code == 200
    return json_of(reply)


def test_an_empty_queue_has_zeros_for_every_type(api: Api) -> None:
    assert stats(api) == {
        "as_of": "2026-11-29T12:00:00.000Z",
        "exact": counts_exactly(api.store),
        "types": {"email": NONE_OF_ANY, "pdf": NONE_OF_ANY, "sync": NONE_OF_ANY},
        "due": NONE,
        "delayed": NONE,
        "expired_leases": NONE,
        "oldest_due_age_seconds": {"low": None, "medium": None, "high": None, "critical": None},
        "late_reports": 0,
    }


def test_jobs_are_counted_by_type_and_status(api: Api) -> None:
    for _ in range(4):
        api.enqueue(max_retries=0)
    api.report("complete", api.claim())
    api.report("fail", api.claim())
    api.claim()
    api.enqueue(job_type="pdf", delay_seconds=60)
    api.clock.advance(2.5)

    found = stats(api)

    assert found["types"] == {
        "email": {"pending": 1, "running": 1, "completed": 1, "failed": 1, "cancelled": 0},
        "pdf": NONE_OF_ANY | {"pending": 1},
        "sync": NONE_OF_ANY,
    }
    assert found["due"] == {"count": 1, "capped": False}
    assert found["delayed"] == {"count": 1, "capped": False}


def test_the_oldest_due_job_of_each_priority_is_told(api: Api) -> None:
    """B15: a priority that starves shows."""
    for seconds, priority in [(0, "low"), (5, "low"), (1, "critical"), (100, "high")]:
        api.enqueue("admin", priority=priority, delay_seconds=seconds)
    api.clock.advance(10.25)

    found = stats(api)

    assert found["oldest_due_age_seconds"] == {
        "low": 10.25,
        "medium": None,
        "high": None,
        "critical": 9.25,
    }


def test_leases_that_ran_out_are_counted_until_they_are_settled(api: Api) -> None:
    api.enqueue()
    api.claim(lease_seconds=1)
    running = stats(api)["expired_leases"]
    api.clock.advance(1)
    overdue = stats(api)["expired_leases"]
    api.claim()

    settled = stats(api)["expired_leases"]

    assert [running["count"], overdue["count"], settled["count"]] == [0, 1, 0]


def test_reports_that_came_late_are_counted(api: Api) -> None:
    for _ in range(2):
        api.enqueue()
    first, second = api.claim(lease_seconds=1), api.claim(lease_seconds=60)
    api.clock.advance(2)

    api.report("complete", first)
    api.report("complete", second)

    assert stats(api)["late_reports"] == 1


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (1000, {"count": 1000, "capped": False}),
        (1001, {"count": 1000, "capped": True}),
        (1500, {"count": 1000, "capped": True}),
    ],
)
def test_a_lane_is_counted_up_to_a_thousand(
    api: Api, store: Store, number: int, told: dict[str, Any]
) -> None:
    store.insert_many([pending_job() for _ in range(number)])
    store.insert_many([pending_job(run_at=NOON + 1) for _ in range(number)])

    found = stats(api)

    assert found["due"] == told
    assert found["delayed"] == told
    assert found["types"]["email"]["pending"] == 2 * number


def test_a_worker_sees_the_numbers_of_its_types(api: Api) -> None:
    api.enqueue()
    api.enqueue(job_type="pdf")
    api.clock.advance(1)

    found = stats(api, "pdf-worker")

    assert found["types"] == {"pdf": NONE_OF_ANY | {"pending": 1}}
    assert found["due"] == {"count": 1, "capped": False}
    assert found["oldest_due_age_seconds"]["medium"] == 1


def test_a_producer_may_not_see_the_numbers(api: Api) -> None:
    assert_problem(api.call("GET", "/stats", "producer"), 403, "forbidden")


READS = ["GET /jobs", "GET /jobs/{id}", "GET /jobs/{id}/attempts", "GET /whoami"]
PRODUCES = [*READS, "POST /jobs", "POST /jobs/batch", "POST /jobs/{id}/cancel"]
WORKS = [
    *(*READS, "GET /stats", "POST /jobs/claim", "POST /jobs/{id}/complete"),
    *("POST /jobs/{id}/fail", "POST /jobs/{id}/heartbeat", "POST /jobs/{id}/release"),
]
REDRIVES = ["POST /jobs/redrive", "POST /jobs/{id}/redrive"]
EVERYTHING = [*PRODUCES, *WORKS, *REDRIVES]
OPEN = ["GET /health", "GET /openapi.json"]


@pytest.mark.parametrize(
    ("key", "role", "priority_max", "types", "usable", "may"),
    [
        ("producer", "producer", "high", None, ["email", "pdf", "sync"], PRODUCES),
        ("email-producer", "producer", "high", ["email"], ["email"], PRODUCES),
        ("low-producer", "producer", "low", None, ["email", "pdf", "sync"], PRODUCES),
        ("pdf-worker", "worker", "medium", ["pdf"], ["pdf"], WORKS),
        ("admin", "admin", "critical", None, ["email", "pdf", "sync"], EVERYTHING),
    ],
)
def test_whoami_tells_the_identity_and_what_it_may_do(
    api: Api,
    key: str,
    role: str,
    priority_max: str,
    types: list[str] | None,
    usable: list[str],
    may: list[str],
) -> None:
    document = json_of(api.call("GET", "/whoami", key))

    assert set(document.pop("may")) == {*may, *OPEN}
    assert document == {
        "name": KEYS[key].name,
        "role": role,
        "priority_max": priority_max,
        "types": types,
        "usable_types": usable,
    }


def test_whoami_is_told_only_to_a_key(api: Api) -> None:
    assert_problem(api.call("GET", "/whoami", None), 401, "unauthorized")


def test_whoami_shows_nothing_of_the_key(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "ql_secret", worker(key_id="key_0123456789ab"))

    reply = api.call("GET", "/whoami", "ql_secret")

    assert reply.status_code == 200
    assert b"ql_secret" not in reply.data
    assert b"key_0123456789ab" not in reply.data
