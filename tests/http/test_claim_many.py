"""A claim with a limit: several jobs in one transaction. When to come again if there are none is in
test_claim_many_waits.py."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.clock import format_instant
from queuelog_core.http.bodies import CLAIM_JOBS_MAX, DOCUMENT_BYTES_MAX
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.engines import gives_in_order
from tests.support.factories import NOON, FakeClock, pending_job
from tests.support.http import Api, faults, json_of

LEASE = 300


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


def send(api: Api, limit: Any = 25, key: str = "worker", **body: Any) -> TestResponse:
    return api.call("POST", "/jobs/claim", key, {"limit": limit, **body})


def claim(api: Api, limit: int = 25, key: str = "worker", **body: Any) -> tuple[list[Any], Any]:
    """The jobs, and the seconds until the next one is due."""
    reply = send(api, limit, key, **body)
    assert reply.status_code == 200, reply.get_data(as_text=True)
    assert list(json_of(reply)) == ["jobs", "next_due_in_seconds"]
    assert "Retry-After" not in reply.headers
    return json_of(reply)["jobs"], json_of(reply)["next_due_in_seconds"]


def ids(jobs: list[Any]) -> list[int]:
    return [job["id"] for job in jobs]


def test_every_job_is_claimed_as_by_a_claim_of_its_own(api: Api) -> None:
    for number in range(2):
        api.enqueue(payload={"number": number})
    before = [api.get({"id": job_id}, "worker") for job_id in (1, 2)]
    api.clock.advance(10)

    jobs, _ = claim(api, lease_seconds=60)

    claimed = {
        "status": "running",
        "attempt": 1,
        "worker_id": "mailer",
        "claimed_at": at(10),
        "updated_at": at(10),
        "lease_expires_at": at(70),
    }
    assert jobs == [job | claimed for job in before]
    assert jobs == [api.get(job, "worker") for job in jobs]


def test_each_job_has_the_lease_of_its_own_type(store: Store, clock: FakeClock) -> None:
    types = {"email": Policy(lease_seconds=60), "pdf": Policy(lease_seconds=90)}
    api = Api(store, clock, JobTypes(types))
    for name in types:
        api.enqueue(job_type=name)

    jobs, _ = claim(api)

    assert [job["lease_expires_at"] for job in jobs] == [at(60), at(90)]


@pytest.mark.parametrize("limit", [1, 2, 5, 25])
def test_at_most_that_many_are_given_and_the_rest_is_due_at_once(api: Api, limit: int) -> None:
    api.store.insert_many([pending_job() for _ in range(26)])

    jobs, seconds = claim(api, limit)

    assert ids(jobs) == list(range(1, limit + 1))
    assert seconds == 0


def test_fewer_are_given_when_no_more_are_due(api: Api) -> None:
    for _ in range(3):
        api.enqueue()

    jobs, _ = claim(api)

    assert ids(jobs) == [1, 2, 3]


def test_the_order_is_that_of_single_claims(api: Api) -> None:
    """Priority descending, then run_at, then id; across types."""
    wanted = [
        ("low", 0, "email"),
        ("medium", 3, "email"),
        ("medium", 1, "pdf"),
        ("high", 5, "sync"),
        ("critical", 2, "pdf"),
        ("medium", 1, "email"),
        ("critical", 2, "email"),
        ("high", 0, "email"),
    ]
    for priority, delay, job_type in wanted:
        api.enqueue("admin", job_type, priority=priority, delay_seconds=delay)
    api.clock.advance(5)

    jobs, _ = claim(api)

    assert ids(jobs) == [5, 7, 8, 4, 3, 6, 2, 1]


def test_a_limit_may_end_within_a_priority(api: Api) -> None:
    for priority in ("low", "high", "medium", "high", "medium"):
        api.enqueue(priority=priority)

    assert ids(claim(api, 3)[0]) == [2, 4, 3]
    assert ids(claim(api, 3)[0]) == [5, 1]


def test_leases_that_ran_out_are_settled_first_and_their_jobs_given_in_their_place(
    api: Api,
) -> None:
    api.enqueue(priority="high")
    api.enqueue()
    claim(api, 1)
    api.clock.advance(LEASE)
    api.enqueue(priority="high")

    jobs, _ = claim(api)

    # A settled lease is due from its end on, the instant in which job 3 was made.
    assert [(job["id"], job["attempt"]) for job in jobs] == [(1, 2), (3, 1), (2, 1)]
    assert jobs[0]["error_code"] == "lease_expired"


def test_only_the_types_asked_for_and_allowed_are_given(api: Api) -> None:
    for name in ("email", "pdf", "sync", "pdf"):
        api.enqueue(job_type=name)

    assert ids(claim(api, types=["sync"])[0]) == [3]
    assert ids(claim(api, key="pdf-worker")[0]) == [2, 4]


def test_a_delayed_job_is_waited_for_beside_those_that_are_given(api: Api) -> None:
    api.enqueue()
    api.enqueue(priority="low", delay_seconds=60)
    api.enqueue(priority="high", delay_seconds=90)

    jobs, seconds = claim(api)

    assert (ids(jobs), seconds) == ([1], 60)


def test_the_callers_own_new_leases_count(api: Api) -> None:
    api.enqueue()
    api.enqueue(delay_seconds=500)

    jobs, seconds = claim(api)

    assert (len(jobs), seconds) == (1, LEASE)


def test_no_job_is_given_to_two_callers_at_once(api: Api) -> None:
    api.store.insert_many([pending_job() for _ in range(100)])
    barrier = threading.Barrier(8)

    def drain(mine: Api) -> list[int]:
        taken: list[int] = []
        barrier.wait()
        while jobs := claim(mine, 7)[0]:
            taken += ids(jobs)
        return taken

    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(drain, [api.for_a_thread() for _ in range(8)]))

    assert sorted(job_id for part in parts for job_id in part) == list(range(1, 101))
    # B14: nobody is handed jobs out of their order.
    assert not gives_in_order(api.store) or all(part == sorted(part) for part in parts)


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        (0, "out-of-range"),
        (-1, "out-of-range"),
        (CLAIM_JOBS_MAX + 1, "out-of-range"),
        (1.0, "wrong-type"),
        ("1", "wrong-type"),
        (True, "wrong-type"),
    ],
)
def test_a_limit_out_of_its_range_is_refused_and_claims_nothing(
    api: Api, limit: Any, fault: str
) -> None:
    api.enqueue()

    assert faults(send(api, limit)) == [("limit", fault)]
    assert api.get({"id": 1})["status"] == "pending"


def test_a_limit_of_null_is_a_claim_of_one(api: Api) -> None:
    api.enqueue()

    assert json_of(send(api, None))["id"] == 1
    assert send(api, None).status_code == 204


def test_twenty_five_jobs_with_the_largest_payloads_are_given_at_once(api: Api) -> None:
    payload = {"text": "x" * (DOCUMENT_BYTES_MAX - len('{"text":""}'))}
    for _ in range(25):
        api.enqueue(payload=payload)

    jobs, seconds = claim(api)

    assert [job["payload"] for job in jobs] == [payload] * 25
    assert seconds == LEASE
