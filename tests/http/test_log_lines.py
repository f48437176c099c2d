"""The log: one JSON object a request, with ids, names, codes and durations, never a value."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from queuelog_core.errors import StoreUnavailable
from queuelog_core.logs import JsonLines
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, worker
from tests.support.http import KEYS, Api, failing
from tests.support.logs import listening

FIELDS = [
    "at",
    "level",
    "event",
    "request_id",
    "method",
    "route",
    "status",
    "ms",
    "key_id",
    "job_id",
]
CANARY = "canary77"


class Log:
    """What was logged, as the operator reads it."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    handler = logging.StreamHandler(log.stream)
    handler.setFormatter(JsonLines())
    with listening(handler):
        yield log


def test_a_request_is_one_line_with_these_fields(api: Api, log: Log) -> None:
    api.call("GET", "/whoami", headers={"X-Request-Id": "mine"})

    (line,) = log.lines
    assert list(line) == FIELDS
    assert (line["level"], line["event"], line["request_id"]) == ("info", "request", "mine")
    assert (line["method"], line["route"], line["status"]) == ("GET", "whoami", 200)
    assert (line["key_id"], line["job_id"]) == ("-", None)
    assert isinstance(line["ms"], float)


def test_a_line_names_the_id_of_the_key_and_of_the_job(
    api: Api, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KEYS, "worker", worker(key_id="key_0123456789ab"))
    api.enqueue()
    api.report("complete", api.claim())
    api.call("GET", "/jobs/999", "worker")

    told = [(line["route"], line["status"], line["key_id"], line["job_id"]) for line in log.lines]

    assert told == [
        ("enqueue", 201, "-", 1),
        ("claim", 200, "key_0123456789ab", 1),
        ("complete", 200, "key_0123456789ab", 1),
        ("get", 404, "key_0123456789ab", 999),
    ]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"path": "/nowhere"}, 404),
        ({"path": "/jobs", "method": "PUT"}, 405),
        ({"path": "/jobs", "method": "BREW"}, 405),
        ({"path": "/jobs", "key": None}, 401),
        ({"path": "/jobs", "key": "stranger"}, 403),
        ({"path": "/jobs", "raw": b"{"}, 400),
        ({"path": "/jobs", "raw": b"{}", "content_type": "text/plain"}, 415),
        ({"path": "/jobs", "raw": b" " * (1024 * 1024 + 1)}, 413),
        ({"path": "/jobs", "body": {}}, 422),
        ({"path": "/jobs/999/fail"}, 409),
    ],
)
def test_a_refused_request_is_one_line_too(
    api: Api, log: Log, asked: dict[str, Any], status: int
) -> None:
    api.call(**{"method": "POST", "key": "admin", **asked})

    (line,) = log.lines
    assert list(line) == FIELDS
    assert line["status"] == status


@pytest.mark.parametrize(
    ("error", "event", "status"),
    [
        (StoreUnavailable("the disk is full"), "store-error", 503),
        (RuntimeError(CANARY), "unexpected-error", 500),
    ],
)
def test_a_failure_has_a_line_of_its_own_with_the_same_request_id(
    store: Store, clock: FakeClock, log: Log, error: Exception, event: str, status: int
) -> None:
    api = Api(failing(store, error, "list"), clock)

    api.call("GET", "/jobs", headers={"X-Request-Id": "mine"})

    failure, request = log.lines
    assert (failure["level"], failure["event"]) == ("error", event)
    assert (request["event"], request["status"]) == ("request", status)
    assert failure["request_id"] == request["request_id"] == "mine"


def test_an_unexpected_failure_is_located_but_its_text_is_not_logged(
    store: Store, clock: FakeClock, log: Log
) -> None:
    """An exception may hold whatever the request held."""
    api = Api(failing(store, RuntimeError(CANARY), "insert"), clock)

    api.call("POST", "/jobs", "producer", {"type": "email", "payload": {"a": CANARY}})

    failure = log.lines[0]
    assert failure["cause"] == "RuntimeError"
    assert any("endpoints.py:" in frame for frame in failure["frames"])
    assert CANARY not in log.text


def send_everything(api: Api) -> None:
    """The canary in every place of a request that a caller fills."""
    body = {"type": "email", "payload": {CANARY: CANARY}, "idempotency_key": CANARY}
    api.call("POST", "/jobs", "producer", body)
    api.call("POST", "/jobs", "producer", body | {"payload": {}})
    api.call("POST", "/jobs", "producer", {"type": "email"}, headers={"Idempotency-Key": CANARY})
    api.call("POST", "/jobs", "producer", {"type": CANARY, "priority": CANARY, CANARY: CANARY})
    api.call("POST", "/jobs", "producer", raw=b'{"' + CANARY.encode())
    api.call("POST", "/jobs", CANARY, {"type": "email"})
    api.call("POST", "/jobs/claim", "worker", {"types": [CANARY]})
    claimed = api.claim(worker_id=CANARY)
    api.report("fail", claimed, error=CANARY, error_code=CANARY)
    api.report("fail", claimed, error=CANARY)
    api.report("complete", api.claim(), result=CANARY)
    api.call("GET", f"/jobs?status={CANARY}&{CANARY}=1&cursor={CANARY}")
    api.call("GET", f"/{CANARY}")
    api.call("GET", f"/jobs/{CANARY}/{CANARY}")
    api.call(CANARY.upper(), "/jobs")
    for name in ("Authorization", "Cookie", "User-Agent", "Referer", "X-Forwarded-For", CANARY):
        api.call("GET", "/whoami", headers={name: CANARY})
    api.call("GET", "/whoami", headers={"X-Request-Id": f"{CANARY}!"})
    api.call("POST", "/jobs", "producer", raw=b"x", content_type=f"text/{CANARY}")


def test_no_line_holds_a_value_of_a_request(api: Api, log: Log) -> None:
    """B49."""
    send_everything(api)

    assert {line["event"] for line in log.lines} == {"request"}
    assert len(log.lines) == 24
    assert CANARY not in log.text.lower()


def test_no_line_holds_a_value_when_the_store_fails(
    store: Store, clock: FakeClock, log: Log
) -> None:
    """B49."""
    methods = ("insert", "list", "get", "stats")
    api = Api(failing(store, RuntimeError(CANARY), *methods), clock)
    for method, path in [
        ("POST", "/jobs"),
        ("GET", "/jobs"),
        ("GET", "/jobs/1"),
        ("GET", "/stats"),
    ]:
        api.call(method, path, body={"type": "email", "payload": {"a": CANARY}})

    assert [line["status"] for line in log.lines if line["event"] == "request"] == [500] * 4
    assert CANARY not in log.text


def test_the_key_is_never_logged(api: Api, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ql_worker_" + "a1" * 21 + "b_0a1B2c"
    monkeypatch.setitem(KEYS, secret, worker(key_id="key_0123456789ab"))

    for path in ("/whoami", "/jobs", "/stats", "/nowhere"):
        api.call("GET", path, secret)

    assert len(log.lines) == 4
    assert secret not in log.text


def test_a_line_break_in_a_request_makes_no_second_line(api: Api, log: Log) -> None:
    api.call("GET", "/jobs/1%0A%0Dforged", headers={"X-Request-Id": "a\tb"})

    assert len(log.lines) == 1
