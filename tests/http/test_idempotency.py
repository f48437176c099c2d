"""Idempotency keys: one job for one key of one producer, however often it is sent."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core import transitions
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.engines import numbers_without_gaps
from tests.support.factories import FakeClock, producer
from tests.support.http import KEYS, Api, assert_problem, faults, json_of

OTHER_REQUESTS: list[dict[str, Any]] = [
    {"type": "pdf"},
    {"payload": {"a": 1, "b": 3}},
    {"payload": {"a": 1.0, "b": 2}},
    {"payload": None},
    {"priority": "low"},
    {"priority": None},
    {"max_retries": 4},
    {"delay_seconds": 61},
    {"delay_seconds": None, "run_at": "2026-11-29T12:01:00Z"},
]
BODY: dict[str, Any] = {
    "type": "email",
    "payload": {"a": 1, "b": 2},
    "priority": "high",
    "max_retries": 3,
    "delay_seconds": 60,
}


def send(api: Api, key: str = "producer", header: str | None = None, **body: Any) -> TestResponse:
    headers = {} if header is None else {"Idempotency-Key": header.encode().decode("latin-1")}
    return api.call("POST", "/jobs", key, {"type": "email", **body}, headers=headers)


def assert_replayed(reply: TestResponse, job_id: int) -> None:
    assert reply.status_code == 200
    assert reply.headers["Idempotent-Replayed"] == "true"
    assert reply.headers["Location"] == f"/jobs/{job_id}"
    assert "Idempotency-Payload-Mismatch" not in reply.headers
    assert json_of(reply)["id"] == job_id


def test_a_new_job_is_no_replay(api: Api) -> None:
    reply = send(api, idempotency_key="k")

    assert reply.status_code == 201
    assert json_of(reply)["idempotency_key"] == "k"
    assert "Idempotent-Replayed" not in reply.headers


@pytest.mark.parametrize("form", [{"idempotency_key": "k"}, {"header": "k"}])
def test_the_same_request_again_finds_its_job(api: Api, form: dict[str, str]) -> None:
    first = send(api, **form)
    api.clock.advance(100)

    again = send(api, **form)

    assert_replayed(again, 1)
    assert json_of(again) == json_of(first)


@pytest.mark.parametrize("change", OTHER_REQUESTS, ids=str)
def test_another_request_by_the_body_field_finds_the_job_and_is_told(
    api: Api, change: dict[str, Any]
) -> None:
    """B33."""
    original = json_of(send(api, idempotency_key="k", **BODY))

    reply = send(api, idempotency_key="k", **{**BODY, **change})

    assert reply.status_code == 200
    assert reply.headers["Idempotency-Payload-Mismatch"] == "true"
    assert reply.headers["Idempotent-Replayed"] == "true"
    assert json_of(reply) == original == api.get(original, "producer")


@pytest.mark.parametrize("change", OTHER_REQUESTS, ids=str)
def test_another_request_by_the_header_is_refused(api: Api, change: dict[str, Any]) -> None:
    """B33."""
    original = json_of(send(api, header="k", **BODY))

    reply = send(api, header="k", **{**BODY, **change})

    assert_problem(reply, 422, "idempotency-key-reused")
    assert api.get(original, "producer") == original


@pytest.mark.parametrize(
    "change",
    [
        {"payload": {"b": 2, "a": 1}},
        {"priority": "HIGH"},
        {"run_at": None},
        {"idempotency_key": None},
    ],
    ids=str,
)
def test_another_spelling_of_the_same_request_is_the_same(api: Api, change: dict[str, Any]) -> None:
    """B33: no mismatch for mere key order."""
    send(api, header="k", **BODY)

    reply = send(api, header="k", **{**BODY, **change})

    assert_replayed(reply, 1)


@pytest.mark.parametrize("spelling", ["2026-11-29T14:00:00.0+01:00", "2026-11-29T12:59:59.9999Z"])
def test_the_same_instant_is_the_same_request(api: Api, spelling: str) -> None:
    send(api, header="k", run_at="2026-11-29T13:00:00Z")

    reply = send(api, header="k", run_at=spelling)

    assert_replayed(reply, 1)


def test_a_body_in_another_key_order_is_the_same_request(api: Api) -> None:
    texts = ['{"type":"email","payload":{"a":1,"b":2}}', '{"payload":{"b":2,"a":1},"type":"email"}']

    first, again = (
        api.call("POST", "/jobs", "producer", raw=text.encode(), headers={"Idempotency-Key": "k"})
        for text in texts
    )

    assert first.status_code == 201
    assert_replayed(again, 1)


@pytest.mark.parametrize("status", ["running", "completed", "failed", "cancelled"])
def test_a_repeat_is_answered_whatever_became_of_the_job(
    api: Api, store: Store, status: str
) -> None:
    job = json_of(send(api, idempotency_key="k"))
    if status == "cancelled":
        store.update(job["id"], lambda found: transitions.cancel(found, api.clock()))
    else:
        claimed = api.claim()
        if status == "completed":
            api.report("complete", claimed)
        elif status == "failed":
            api.report("fail", claimed, retryable=False)

    reply = send(api, idempotency_key="k")

    assert_replayed(reply, 1)
    assert json_of(reply)["status"] == status


def test_a_repeat_under_a_narrowed_key_is_refused(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(api, idempotency_key="k")
    monkeypatch.setitem(KEYS, "producer", producer(types=frozenset({"pdf"})))

    reply = send(api, idempotency_key="k")

    assert_problem(reply, 403, "forbidden")


def test_a_repeat_under_a_narrowed_allowlist_is_refused(store: Store, clock: FakeClock) -> None:
    send(Api(store, clock), idempotency_key="k")
    narrowed = Api(store, clock, JobTypes({"email": Policy(accept=False)}))

    reply = send(narrowed, idempotency_key="k")

    assert faults(reply) == [("type", "not-allowed")]


@pytest.mark.parametrize("form", [{"idempotency_key": "k"}, {"header": "k"}])
def test_many_threads_with_one_key_make_one_job(api: Api, form: dict[str, str]) -> None:
    barrier = threading.Barrier(16)

    def once(mine: Api) -> TestResponse:
        barrier.wait()
        return send(mine, **form)

    with ThreadPoolExecutor(16) as threads:
        replies = list(threads.map(once, [api.for_a_thread() for _ in range(16)]))

    assert sorted(reply.status_code for reply in replies) == [200] * 15 + [201]
    (job_id,) = {json_of(reply)["id"] for reply in replies}
    assert job_id == 1 or not numbers_without_gaps(api.store)
