"""A claim with an Idempotency-Key: a repeat gets the jobs that the first one got, as long as one of
them still runs on that attempt. What a key may be and whose it is stands in test_claim_keys.py,
many repeats at once in test_claim_by_key_races.py."""

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.clock import format_instant
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import NOON
from tests.support.http import Api, json_of

LEASE = 300


def send(
    api: Api, header: str = "k", key: str = "worker", raw: bytes | None = None, **body: Any
) -> TestResponse:
    headers = {"Idempotency-Key": header.encode().decode("latin-1")}
    return api.call("POST", "/jobs/claim", key, body, raw=raw, headers=headers)


def ids(reply: TestResponse) -> list[int]:
    """The jobs that a claim got, in order."""
    if reply.status_code == 204:
        return []
    document = json_of(reply)
    return [job["id"] for job in document.get("jobs", [document])]


def replayed(reply: TestResponse) -> bool:
    assert reply.headers.get("Idempotent-Replayed") in (None, "true")
    return "Idempotent-Replayed" in reply.headers


def enqueue(api: Api, number: int, **fields: Any) -> None:
    for _ in range(number):
        api.enqueue(**fields)


def settle(api: Api) -> None:
    api.clock.advance(LEASE)
    api.queue.leases.recover(25)


@pytest.mark.parametrize("body", [{}, {"limit": 1}, {"limit": 3}, {"types": ["email"], "limit": 2}])
def test_a_repeat_gets_the_same_jobs_their_leases_unchanged(api: Api, body: Any) -> None:
    enqueue(api, 5)
    first = send(api, **body)
    stored = [api.store.get(job_id) for job_id in range(1, 6)]
    api.clock.advance(100)

    again = send(api, **body)

    assert (replayed(first), replayed(again)) == (False, True)
    assert ids(again) == ids(first) == list(range(1, body.get("limit", 1) + 1))
    assert [api.store.get(job_id) for job_id in range(1, 6)] == stored
    if "limit" not in body:
        assert again.data == first.data


def test_a_replay_takes_no_lock_and_writes_nothing(api: Api, store: SqliteStore) -> None:
    enqueue(api, 2)
    send(api, limit=2)
    sent: list[str] = []
    thread_connection(store).set_trace_callback(sent.append)

    send(api, limit=2)

    assert sent[0] == "BEGIN"
    assert {text.split()[0] for text in sent} == {"BEGIN", "SELECT", "COMMIT"}


def test_the_order_of_a_replay_is_that_of_the_first_answer(api: Api) -> None:
    for priority, delay in (("low", 0), ("high", 2), ("high", 1), ("medium", 0), ("high", 1)):
        api.enqueue(priority=priority, delay_seconds=delay)
    api.clock.advance(2)

    assert ids(send(api, limit=5)) == ids(send(api, limit=5)) == [3, 5, 2, 4, 1]


def test_the_wait_of_a_replay_is_told_as_of_now(api: Api) -> None:
    enqueue(api, 2)
    first = json_of(send(api, limit=2))
    api.clock.advance(100)

    again = json_of(send(api, limit=2))

    assert again["jobs"] == first["jobs"]
    waits = [document["next_due_in_seconds"] for document in (first, again)]
    assert waits == [LEASE, LEASE - 100]


BODY: dict[str, Any] = {"types": ["email", "pdf"], "lease_seconds": 60, "limit": 1}
OTHER_BODIES: list[dict[str, Any]] = [
    {"types": None},
    {"types": ["email"]},
    {"types": ["pdf", "email"]},
    {"types": ["email", "pdf", "sync"]},
    {"lease_seconds": None},
    {"lease_seconds": 61},
    {"limit": None},
    {"limit": 2},
]


@pytest.mark.parametrize("change", OTHER_BODIES, ids=str)
def test_another_body_with_the_key_claims_afresh(api: Api, change: dict[str, Any]) -> None:
    enqueue(api, 2)
    send(api, **BODY)

    other = send(api, **{**BODY, **change})

    assert (ids(other), replayed(other)) == ([2], False)
    assert (ids(send(api, **BODY)), ids(send(api, **{**BODY, **change}))) == ([1], [2])


@pytest.mark.parametrize(
    "spelling",
    [
        b'{"limit": 1, "types": ["email", "pdf"], "lease_seconds": 60}',
        b'{"types":["\\u0065mail","pdf"],"lease_seconds":60,"limit":1}',
        b'{"types": ["email", "pdf"], "lease_seconds": 60, "limit": 1, "worker_id": "x"}',
        b'{"types": ["email", "pdf"], "lease_seconds": 60, "limit": 1, "worker_id": null}',
    ],
)
def test_another_spelling_of_the_body_is_the_same_claim(api: Api, spelling: bytes) -> None:
    enqueue(api, 2)
    send(api, **BODY)

    again = send(api, raw=spelling)

    assert (ids(again), replayed(again)) == ([1], True)


def test_an_empty_body_an_empty_object_and_nulls_are_the_same_claim(api: Api) -> None:
    enqueue(api, 2)
    send(api, raw=b"")

    assert ids(send(api)) == [1]
    assert ids(send(api, types=None, lease_seconds=None, limit=None)) == [1]


Step = Callable[[Api, Any], Any]
ENDED: dict[str, list[Step]] = {
    "completed": [lambda api, job: api.report("complete", job)],
    "failed": [lambda api, job: api.report("fail", job)],
    "failed for good": [lambda api, job: api.report("fail", job, retryable=False)],
    "released": [lambda api, job: api.report("release", job)],
    "expired": [lambda api, _: settle(api)],
    "expired and cancelled": [
        lambda api, _: api.clock.advance(LEASE),
        lambda api, job: api.call("POST", f"/jobs/{job['id']}/cancel"),
    ],
    "released and claimed without the key": [
        lambda api, job: api.report("release", job),
        lambda api, _: api.claim(),
    ],
    "failed and claimed with another key": [
        lambda api, job: api.report("fail", job),
        lambda api, _: send(api, "another"),
    ],
    "expired and claimed by another with the key": [
        lambda api, _: settle(api),
        lambda api, _: send(api, key="other-worker"),
    ],
}
PENDING_AGAIN = {"failed", "released", "expired"}


@pytest.mark.parametrize("ended", ENDED)
def test_when_none_of_its_jobs_runs_on_that_attempt_a_claim_is_a_fresh_one(
    api: Api, ended: str
) -> None:
    enqueue(api, 1)
    job = json_of(send(api))
    for step in ENDED[ended]:
        step(api, job)
    enqueue(api, 1, priority="low")

    afresh = send(api)

    assert not replayed(afresh)
    assert (json_of(afresh)["id"], json_of(afresh)["attempt"]) == (
        (1, 2) if ended in PENDING_AGAIN else (2, 1)
    )
    assert replayed(send(api))
    assert ids(send(api)) == ids(afresh)


def test_only_those_that_still_run_on_that_attempt_are_given_again(api: Api) -> None:
    enqueue(api, 6)
    jobs = json_of(send(api, limit=5))["jobs"]
    api.report("complete", jobs[0])
    api.report("fail", jobs[1])
    api.claim("other-worker")
    api.report("release", jobs[3])
    api.claim()

    again = send(api, limit=5)

    assert (ids(again), replayed(again)) == ([3, 5], True)
    assert json_of(again)["jobs"] == [jobs[2], jobs[4]]


def test_what_a_claim_gave_once_it_does_not_fill_up(api: Api) -> None:
    enqueue(api, 2)
    send(api, limit=5)
    enqueue(api, 3)

    assert ids(send(api, limit=5)) == [1, 2]


def test_a_job_whose_lease_ran_out_is_given_again_until_somebody_settles_it(api: Api) -> None:
    enqueue(api, 2)
    first = send(api)
    api.clock.advance(LEASE)

    assert send(api).data == first.data
    assert api.claim("other-worker")["id"] == 2
    settled = send(api)
    assert (json_of(settled)["attempt"], replayed(settled)) == (2, False)


def test_a_replay_shows_the_job_as_it_is_now(api: Api) -> None:
    enqueue(api, 1)
    job = json_of(send(api))
    api.report("heartbeat", job, extend_seconds=600)
    api.clock.advance(1)
    api.call("POST", "/jobs/1/cancel")

    again = json_of(send(api))

    later = format_instant(NOON + 1000)
    assert again == job | {
        "lease_expires_at": format_instant(NOON + 600_000),
        "updated_at": later,
        "cancel_requested_at": later,
    }
