"""A request with two faults gets the answer of the check that comes first."""

from typing import Any

import pytest

from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, worker
from tests.support.http import KEYS, Api, assert_problem, failing, faults

OVERSIZED = b"[" * (1024 * 1024 + 1)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/jobs/0", 404, "not-found"),
        ("POST", "/jobs/01/complete", 404, "not-found"),
        ("DELETE", "/jobs", 405, "method-not-allowed"),
    ],
)
def test_the_route_is_checked_before_the_key(
    api: Api, method: str, path: str, status: int, code: str
) -> None:
    reply = api.call(method, path, None)

    assert_problem(reply, status, code)


@pytest.mark.parametrize(
    ("key", "status", "code"),
    [(None, 401, "unauthorized"), ("", 401, "unauthorized"), ("stranger", 403, "forbidden")],
)
def test_the_key_is_checked_before_role_and_body(
    api: Api, key: str | None, status: int, code: str
) -> None:
    reply = api.call("POST", "/jobs/claim", key, raw=b"{", content_type="text/plain")

    assert_problem(reply, status, code)


@pytest.mark.parametrize(
    ("key", "path"),
    [("producer", "/jobs/claim"), ("producer", "/jobs/1/fail"), ("worker", "/jobs")],
)
def test_the_role_is_checked_before_the_media_type(api: Api, key: str, path: str) -> None:
    reply = api.call("POST", path, key, raw=b"{}", content_type="text/plain")

    assert_problem(reply, 403, "forbidden")


def test_the_media_type_is_checked_before_the_size(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", raw=OVERSIZED, content_type="text/plain")

    assert_problem(reply, 415, "unsupported-media-type")


def test_the_size_is_checked_before_the_json(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", raw=OVERSIZED)

    assert_problem(reply, 413, "payload-too-large")


def test_the_json_is_checked_before_the_schema(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", raw=b'{"type": 5, "type": 5}')

    assert_problem(reply, 400, "invalid-json")


def test_the_schema_is_checked_before_the_allowlist(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "fax", "max_retries": "3"})

    assert faults(reply) == [("max_retries", "wrong-type")]


@pytest.mark.parametrize(
    ("key", "body"),
    [
        ("email-producer", {"type": "pdf", "delay_seconds": -1}),
        ("low-producer", {"type": "email", "priority": "critical", "delay_seconds": -1}),
    ],
)
def test_the_schema_is_checked_before_the_caps_of_the_key(
    api: Api, key: str, body: dict[str, Any]
) -> None:
    reply = api.call("POST", "/jobs", key, body)

    assert faults(reply) == [("delay_seconds", "out-of-range")]


def test_the_key_of_the_header_is_checked_with_the_schema(api: Api) -> None:
    asked = {"type": "pdf", "priority": "critical"}
    too_long = {"Idempotency-Key": "k" * 256}

    reply = api.call("POST", "/jobs", "email-producer", asked, headers=too_long)

    assert len(faults(reply)) == 1


def test_the_allowlist_is_checked_before_the_caps_of_the_key(api: Api) -> None:
    reply = api.call("POST", "/jobs", "low-producer", {"type": "fax", "priority": "critical"})

    assert faults(reply) == [("type", "not-allowed")]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"type": "fax"}, 422, "validation-failed"),
        ({"priority": "critical"}, 403, "priority-not-allowed"),
    ],
)
def test_policy_is_checked_before_the_idempotency_key(
    api: Api, change: dict[str, Any], status: int, code: str
) -> None:
    api.enqueue(idempotency_key="k")

    reply = api.call(
        "POST", "/jobs", "producer", {"type": "email", **change}, headers={"Idempotency-Key": "k"}
    )

    assert_problem(reply, status, code)


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_the_schema_is_checked_before_visibility(api: Api, verb: str) -> None:
    reply = api.call("POST", f"/jobs/999/{verb}", "worker", {"attempt": 0})

    assert faults(reply) == [("attempt", "out-of-range")]


def test_visibility_is_checked_before_a_replay(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.enqueue()
    claimed = api.claim()
    api.report("complete", claimed)
    monkeypatch.setitem(KEYS, "worker", worker(types=frozenset({"pdf"})))

    reply = api.report("complete", claimed)

    assert_problem(reply, 409, "conflict")


def test_a_replay_is_recognised_before_the_state_is_checked(api: Api) -> None:
    api.enqueue()
    claimed = api.claim()
    api.report("complete", claimed)

    reply = api.report("complete", claimed)

    assert reply.status_code == 200
    assert reply.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"path": "/jobs/0/complete"}, 404, "not-found"),
        ({"key": None}, 401, "unauthorized"),
        ({"key": "worker"}, 403, "forbidden"),
        ({"raw": b"{}", "content_type": "text/plain"}, 415, "unsupported-media-type"),
        ({"raw": OVERSIZED}, 413, "payload-too-large"),
        ({"raw": b"{"}, 400, "invalid-json"),
        ({"body": {"type": 5}}, 422, "validation-failed"),
        ({"body": {"type": "fax"}}, 422, "validation-failed"),
        ({"body": {"type": "email", "priority": "critical"}}, 403, "priority-not-allowed"),
        ({"body": {"type": "email"}}, 503, "store-unavailable"),
    ],
)
def test_the_store_is_asked_last(
    store: Store, clock: FakeClock, asked: dict[str, Any], status: int, code: str
) -> None:
    broken = failing(store, StoreUnavailable("gone"), "insert", "insert_many", "get", "update")
    api = Api(broken, clock)

    reply = api.call(**{"method": "POST", "path": "/jobs", "key": "producer", **asked})

    assert_problem(reply, status, code)
