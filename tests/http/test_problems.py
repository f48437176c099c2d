"""Every refusal has one form, and a failure of the server tells nothing of its inside."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.errors import StoreBusy, StoreUnavailable
from queuelog_core.http.app import create_app
from queuelog_core.identity import Identity
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem, failing, json_of

MEMBERS = ["type", "title", "status", "detail", "code", "request_id", "errors"]
SECRET = "/mnt/efs/queuelog.db is full of hunter2"
OVERSIZED = b" " * (1024 * 1024 + 1)
EMAIL = {"type": "email"}

REFUSALS: list[tuple[int, str, dict[str, Any]]] = [
    (400, "invalid-json", {"raw": b"{"}),
    (401, "unauthorized", {"key": None}),
    (403, "forbidden", {"key": "stranger"}),
    (403, "forbidden", {"key": "worker"}),
    (403, "priority-not-allowed", {"body": EMAIL | {"priority": "critical"}}),
    (404, "not-found", {"method": "GET", "path": "/jobs/999"}),
    (404, "not-found", {"path": "/nowhere"}),
    (405, "method-not-allowed", {"method": "PUT"}),
    (409, "conflict", {"path": "/jobs/999/fail", "key": "worker"}),
    (413, "payload-too-large", {"raw": OVERSIZED}),
    (415, "unsupported-media-type", {"raw": b"{}", "content_type": "text/plain"}),
    (422, "validation-failed", {"body": {}}),
    (422, "idempotency-key-reused", {"body": EMAIL, "headers": {"Idempotency-Key": "used"}}),
    (500, "internal-error", {"method": "GET"}),
    (503, "store-unavailable", {"path": "/jobs/claim", "key": "worker"}),
    (503, "store-busy", {"method": "GET", "path": "/stats", "key": "worker"}),
]


@pytest.fixture
def ailing(store: Store, clock: FakeClock) -> Api:
    """An application over a store of which each method fails in its own way."""
    Api(store, clock).enqueue(job_type="pdf", idempotency_key="used")
    ailing = failing(store, RuntimeError(SECRET), "list")
    ailing = failing(ailing, StoreUnavailable(SECRET), "claim")
    return Api(failing(ailing, StoreBusy(SECRET), "stats"), clock)


def provoke(api: Api, asked: dict[str, Any]) -> TestResponse:
    request = {"method": "POST", "path": "/jobs", "key": "producer", **asked}
    return api.call(**request)


@pytest.mark.parametrize(("status", "code", "asked"), REFUSALS)
def test_every_refusal_has_the_same_members(
    ailing: Api, status: int, code: str, asked: dict[str, Any]
) -> None:
    document = assert_problem(provoke(ailing, asked), status, code)

    assert list(document) == MEMBERS
    assert document["type"] == f"urn:queuelog:problem:{code}"
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert all(error.keys() == {"field", "code", "message"} for error in document["errors"])
    assert bool(document["errors"]) == (code == "validation-failed")


@pytest.mark.parametrize(("status", "code", "asked"), REFUSALS)
def test_every_refusal_carries_the_request_id_in_header_and_body(
    ailing: Api, status: int, code: str, asked: dict[str, Any]
) -> None:
    headers = {**asked.get("headers", {}), "X-Request-Id": "trace-1.a_B"}

    reply = provoke(ailing, asked | {"headers": headers})

    assert reply.headers["X-Request-Id"] == "trace-1.a_B"
    assert json_of(reply)["request_id"] == "trace-1.a_B"


@pytest.mark.parametrize("given", ["a", "A.b_c-9", "x" * 64])
def test_a_well_formed_request_id_is_taken_over(api: Api, given: str) -> None:
    reply = api.call("GET", "/health", None, headers={"X-Request-Id": given})

    assert reply.headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a/b", "<a>", "é", "a,b", "a:b"])
def test_any_other_request_id_is_replaced(api: Api, given: str) -> None:
    reply = api.call("GET", "/health", None, headers={"X-Request-Id": given})

    fresh = reply.headers["X-Request-Id"]
    assert fresh != given
    assert fresh.isalnum()


def test_each_request_without_an_id_gets_its_own(api: Api) -> None:
    ids = {api.call("GET", "/health", None).headers["X-Request-Id"] for _ in range(20)}

    assert len(ids) == 20


def test_an_answer_without_a_body_carries_the_request_id(api: Api) -> None:
    reply = api.call("POST", "/jobs/claim", "worker", {}, headers={"X-Request-Id": "mine"})

    assert reply.status_code == 204
    assert reply.headers["X-Request-Id"] == "mine"


@pytest.mark.parametrize(
    ("status", "asked"), [(status, asked) for status, _, asked in REFUSALS if status >= 500]
)
def test_a_failure_of_the_server_tells_nothing_of_its_inside(
    ailing: Api, status: int, asked: dict[str, Any]
) -> None:
    reply = provoke(ailing, asked)

    assert reply.status_code == status
    for inside in (b"hunter2", b"/mnt", b"Error", b"Traceback", b".py", b"sqlite"):
        assert inside not in reply.data


@pytest.mark.parametrize("error", [StoreUnavailable(SECRET), StoreBusy(SECRET)])
@pytest.mark.parametrize(
    ("methods", "asked"),
    [
        (("insert", "insert_many"), {"body": EMAIL}),
        (("insert", "insert_many"), {"body": EMAIL | {"idempotency_key": "k"}}),
        (("list",), {"method": "GET"}),
        (("get",), {"method": "GET", "path": "/jobs/1"}),
        (("claim",), {"path": "/jobs/claim", "key": "worker"}),
        (("next_due_at",), {"path": "/jobs/claim", "key": "worker"}),
        (("update",), {"path": "/jobs/1/complete", "key": "worker"}),
        (("update",), {"path": "/jobs/1/fail", "key": "worker"}),
        (("stats",), {"method": "GET", "path": "/stats", "key": "worker"}),
    ],
)
def test_a_store_that_cannot_be_used_is_told_with_a_time_to_wait(
    store: Store,
    clock: FakeClock,
    error: StoreUnavailable,
    methods: tuple[str, ...],
    asked: dict[str, Any],
) -> None:
    api = Api(failing(store, error, *methods), clock)

    reply = provoke(api, asked)

    assert_problem(reply, 503, error.code)
    assert 1 <= int(reply.headers["Retry-After"]) <= 20


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreUnavailable(SECRET), 503, "store-unavailable"),
        (ValueError(SECRET), 500, "internal-error"),
        (KeyError(SECRET), 500, "internal-error"),
        (RecursionError(SECRET), 500, "internal-error"),
    ],
)
def test_keys_that_cannot_be_looked_up_are_a_failure_of_the_server(
    api: Api, error: Exception, status: int, code: str
) -> None:
    """Never a 401 or 403, which would stop a client for good."""

    def identify(_: dict[str, Any]) -> Identity:
        raise error

    client = create_app(api.queue, identify).test_client()

    reply = client.get("/whoami", headers={"X-API-Key": "worker"})

    assert_problem(reply, status, code)
    assert b"hunter2" not in reply.data


def test_the_next_request_after_a_failure_is_served(ailing: Api) -> None:
    failed = provoke(ailing, {"method": "GET"})

    reply = ailing.call("GET", "/jobs/1", "admin")

    assert [failed.status_code, reply.status_code] == [500, 200]


@pytest.mark.parametrize(("status", "code", "asked"), REFUSALS)
def test_no_refusal_may_be_cached(
    ailing: Api, status: int, code: str, asked: dict[str, Any]
) -> None:
    assert provoke(ailing, asked).headers["Cache-Control"] == "no-store"
