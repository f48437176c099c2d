"""Many jobs in one request: each is judged, stored and answered as one that is sent alone, all of
them in one transaction. What a bad item is told is in test_batch_items.py, what a bad body in
test_batch_bodies.py."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.errors import StoreBusy
from queuelog_core.http.bodies import BATCH_JOBS_MAX
from queuelog_core.stores import Store
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem, failing, faults, json_of

EMAIL = {"type": "email"}


def send(api: Api, jobs: Any, key: str = "producer", **headers: str) -> TestResponse:
    return api.call("POST", "/jobs/batch", key, {"jobs": jobs}, headers=headers)


def results(reply: TestResponse) -> list[Any]:
    """What each item was told; they come in the order of the request."""
    assert reply.status_code == 200, reply.get_data(as_text=True)
    assert list(json_of(reply)) == ["results"]
    found: list[Any] = json_of(reply)["results"]
    assert [result["index"] for result in found] == list(range(len(found)))
    return found


def made(index: int, job_id: int) -> dict[str, Any]:
    return {
        "index": index,
        "status": 201,
        "id": job_id,
        "replayed": False,
        "payload_mismatch": False,
    }


def known(index: int, job_id: int, *, mismatch: bool = False) -> dict[str, Any]:
    answer = {"status": 200, "replayed": True, "payload_mismatch": mismatch}
    return made(index, job_id) | answer


def keyed(key: str, **fields: Any) -> dict[str, Any]:
    return EMAIL | {"idempotency_key": key} | fields


def stored(api: Api) -> list[Any]:
    """All jobs, in the order of their ids."""
    listed: list[Any] = json_of(api.call("GET", "/jobs?order=asc&limit=200"))["jobs"]
    return listed


def test_every_job_is_stored_as_one_that_is_sent_alone(api: Api) -> None:
    jobs: list[dict[str, Any]] = [
        EMAIL,
        {"type": "pdf", "payload": {"b": 1, "a": "\u0000é"}, "priority": "HIGH", "max_retries": 0},
        {"type": "sync", "delay_seconds": 5, "idempotency_key": "k", "payload": None},
        {"type": "sync", "run_at": "2026-11-29T14:00:00+01:00"},
    ]

    told = results(send(api, jobs))

    assert told == [made(index, index + 1) for index in range(4)]
    for job in jobs:
        assert api.call("POST", "/jobs", "other-producer", job).status_code == 201
    together, alone = stored(api)[:4], stored(api)[4:]
    for one, other in zip(together, alone, strict=True):
        assert one | {"id": other["id"], "producer_id": "blog"} == other


@pytest.mark.parametrize("number", [1, 2, BATCH_JOBS_MAX])
def test_a_batch_has_one_to_a_hundred_jobs(api: Api, number: int) -> None:
    assert results(send(api, [EMAIL] * number)) == [made(i, i + 1) for i in range(number)]
    assert len(stored(api)) == number


def test_an_admins_batch_is_its_own_producers(api: Api) -> None:
    send(api, [EMAIL], "admin")

    assert api.get({"id": 1})["producer_id"] == "root"


@pytest.mark.parametrize("key", ["k", ""])
def test_a_key_in_the_header_is_refused(api: Api, key: str) -> None:
    """One key for all of them would say nothing about each."""
    reply = send(api, [keyed("k")], **{"Idempotency-Key": key})

    assert faults(reply) == [("Idempotency-Key", "conflict")]
    assert stored(api) == []


def test_a_key_that_comes_twice_in_a_batch_makes_one_job(api: Api) -> None:
    jobs = [keyed("k"), EMAIL, keyed("k"), keyed("k", payload={"a": 1}), keyed("K")]

    told = results(send(api, jobs))

    last = told[4]["id"]
    assert told == [made(0, 1), made(1, 2), known(2, 1), known(3, 1, mismatch=True), made(4, last)]
    assert [job["id"] for job in stored(api)] == [1, 2, last]
    assert api.get({"id": 1})["payload"] == {}


def test_a_batch_and_single_requests_share_their_keys(api: Api) -> None:
    api.enqueue(idempotency_key="by field")
    api.call("POST", "/jobs", "producer", EMAIL, headers={"Idempotency-Key": "by header"})

    told = results(send(api, [keyed("by field"), keyed("by header"), keyed("by batch")]))
    alone = api.call("POST", "/jobs", "producer", keyed("by batch"))

    new = told[2]["id"]
    assert told == [known(0, 1), known(1, 2), made(2, new)]
    assert (alone.status_code, json_of(alone)["id"]) == (200, new)


def test_the_keys_of_a_batch_live_per_producer(api: Api) -> None:
    jobs = [keyed("k"), keyed("l")]
    send(api, jobs)

    assert results(send(api, jobs, "other-producer")) == [made(0, 3), made(1, 4)]
    assert results(send(api, jobs)) == [known(0, 1), known(1, 2)]


def test_the_whole_batch_may_be_repeated_whatever_became_of_its_jobs(api: Api) -> None:
    jobs = [keyed(str(number), delay_seconds=0) for number in range(6)]
    send(api, jobs)
    claimed = [api.claim() for _ in range(5)]
    api.report("complete", claimed[1], result=1)
    api.report("fail", claimed[2], retryable=False)
    api.report("release", claimed[3])
    api.call("POST", "/jobs/5/cancel")
    api.report("release", claimed[4])
    before = stored(api)
    api.clock.advance(60)

    told = results(send(api, jobs))

    assert told == [known(index, index + 1) for index in range(6)]
    assert stored(api) == before
    assert {job["status"] for job in before} == {
        *("pending", "running", "completed", "failed", "cancelled")
    }


def test_a_repeat_makes_what_is_new_in_it_and_tells_what_differs(api: Api) -> None:
    send(api, [keyed("a"), keyed("b", payload={"n": 1})])
    before = stored(api)

    told = results(send(api, [keyed("c"), keyed("b", payload={"n": 2}), keyed("a")]))

    assert told == [made(0, 3), known(1, 2, mismatch=True), known(2, 1)]
    assert stored(api)[:2] == before


def test_jobs_without_keys_are_made_again_by_a_repeat(api: Api) -> None:
    send(api, [EMAIL, keyed("k")])

    assert results(send(api, [EMAIL, keyed("k")])) == [made(0, 3), known(1, 2)]


@pytest.mark.parametrize("with_keys", [False, True])
def test_a_batch_is_one_transaction_and_its_repeat_none(
    api: Api, store: SqliteStore, with_keys: bool
) -> None:
    jobs = [keyed(str(number)) if with_keys else EMAIL for number in range(BATCH_JOBS_MAX)]
    sent: list[str] = []
    thread_connection(store).set_trace_callback(sent.append)

    send(api, jobs)

    assert [sent.count("BEGIN IMMEDIATE"), sent[-1]] == [1, "COMMIT"]
    if with_keys:
        sent.clear()
        send(api, jobs)
        assert sent
        assert "BEGIN IMMEDIATE" not in sent


def test_a_busy_store_refuses_the_whole_and_keeps_nothing(store: Store, clock: FakeClock) -> None:
    busy = Api(failing(store, StoreBusy("busy"), "insert_many"), clock)

    reply = send(busy, [EMAIL, {"type": "unheard-of"}])

    assert_problem(reply, 503, "store-busy")
    assert reply.headers["Retry-After"] == "1"
    assert stored(Api(store, clock)) == []
