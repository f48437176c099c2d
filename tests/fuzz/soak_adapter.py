"""The Lambda adapter: it answers every event well-formed, with a status of the contract, never 5xx.

An event starts as a good request for one route; the input then spoils parts of it, one by one.
"""

import atexit
import functools
import json
import re
import sqlite3
import tempfile
from typing import Any

from queuelog_core.http.answers import PROBLEM
from queuelog_core.http.app import create_app
from queuelog_core.http.lambda_adapter import handle, identify
from queuelog_core.http.routes import GROUPS, ROUTES, routes_of
from queuelog_core.leases import Wanted
from queuelog_core.queue import Queue
from queuelog_core.stores.sqlite import open_sqlite
from tests.functions.events import SCHEDULED, http_event
from tests.fuzz.soak_choices import Choices
from tests.support.backlogs import thread_connection
from tests.support.factories import FakeClock, admin, new_job, producer, worker
from tests.support.http import plain_types

CALLERS = (admin(), producer(), worker(), None)
BODIES = (
    *("{}", '{"type":"email"}', '{"attempt":1}', "", "e30=", "\ud800", '{"type":"é"}'),
    *('{"jobs":[{"type":"email"},7]}', '{"limit":2}', '{"all":true,"limit":1}'),
    *('{"filter":{"status":"failed"}}', '{"attempt":1,"extend_seconds":1}', '{"delay_seconds":1}'),
)
PLACES: tuple[tuple[str, ...], ...] = (
    *(("version",), ("rawPath",), ("rawQueryString",), ("body",), ("isBase64Encoded",)),
    *(("headers",), ("cookies",), ("requestContext",), ("source",), ("queryStringParameters",)),
    *(("headers", name) for name in ("content-type", "Content-Type", "content-length", "host")),
    *(("headers", name) for name in ("idempotency-key", "x-request-id", "X-API-Key", "x_api_key")),
    *(("headers", name) for name in ("content-encoding", "Transfer-Encoding", "cookie", "expect")),
    *(("headers", name) for name in ("x-forwarded-proto", "x-forwarded-port", "é", "", "a b")),
    *(("requestContext", name) for name in ("http", "stage", "authorizer", "elb")),
    *(("requestContext", "http", name) for name in ("method", "path", "sourceIp")),
    *(("requestContext", "authorizer", name) for name in ("lambda", "principalId")),
    ("requestContext", "authorizer", "lambda", "identity"),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        10**400,
        "",
        "x",
        "1",
        "é",
        "\ud800",
        "\0",
        "\r\na: b",
        " ",
    ),
    *([], [None], ["a=1", "b=2"], {}, {"a": None}, {"http": 1}, [[]], "null", "{}", "e30", "2.0"),
    *("GET", "POST", "get", "OPTIONS", "HEAD", "/jobs/1", "/jobs/%31", "//jobs", "/jobs?x", "/"),
    *("application/json", "application/json; charset=utf-16", "text/plain", "chunked", "gzip"),
    *("dev", "$default", "a.amazonaws.com", "limit=1&limit=2", "status=%ff", "cursor=W10", "&&=;"),
    *("x" * 70_000, "x" * 1_100_000, "[" * 3000, admin().to_json(), json.dumps(admin().to_json())),
)
_LIST = [route.name for route in ROUTES].index("list_jobs")
SEEDS: tuple[bytes, ...] = (
    *(
        bytes([route, job, caller, body])
        for route in range(len(ROUTES))
        for job, caller, body in (
            *((0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 1), (3, 0, 0)),
            # The second job is the admin's own.
            *((1, 0, body) for body in (0, *range(7, len(BODIES)))),
        )
    ),
    *(
        bytes([0, 0, 1, 1, 4, place, value])
        for place in range(len(PLACES))
        for value in (0, 4, 12, 17)
    ),
    # A HEAD of a path that is none: a refusal without a body.
    bytes.fromhex("00000101041100010104 1f1f0f11"),
    bytes([_LIST, 0, 0, 0, 10, 2, 5]) + b"\xff{]=%",
)
DICTIONARY: tuple[bytes, ...] = (b"application/json", b"limit=1", b"status=pending", b"/jobs/1")
EVENTS: tuple[Any, ...] = (SCHEDULED, None, [], "x", 1, {}, {"version": "2.0"}, {"version": 2.0})
CODES = {
    400: {"invalid-json"},
    401: {"unauthorized"},
    403: {"forbidden", "priority-not-allowed"},
    404: {"not-found"},
    405: {"method-not-allowed"},
    409: {"conflict", "not-owner", "lease-lost", "already-reported", "deadline-exceeded"},
    413: {"payload-too-large"},
    415: {"unsupported-media-type"},
    422: {"validation-failed", "idempotency-key-reused"},
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class _World:
    """An application for each group over one store, which is as before again after each event."""

    def __init__(self) -> None:
        folder = tempfile.TemporaryDirectory()
        atexit.register(folder.cleanup)
        store = open_sqlite(f"{folder.name}/queuelog.db", "")
        queue = Queue(store, plain_types(), FakeClock(), random=lambda: 0.0)
        for _ in range(4):
            queue.enqueue(admin(), new_job())
        for identity in (worker(), admin()):
            queue.leases.claim(identity, Wanted())
        queue.cancel(admin(), 4)
        self._apps = {group: create_app(queue, identify, routes_of(group)) for group in GROUPS}
        self._connection = thread_connection(store)
        # A run costs no fsync: what is on disk afterwards is nobody's concern.
        self._connection.execute("PRAGMA synchronous=OFF")
        self._before = sqlite3.connect(":memory:")
        self._connection.backup(self._before)

    def answer(self, group: str, event: Any) -> Any:
        changes = self._connection.total_changes
        reply = handle(lambda: self._apps[group], event, None)
        if self._connection.total_changes != changes:
            self._before.backup(self._connection)
        return reply


_world = functools.cache(_World)


def check(data: bytes) -> None:
    """The event that the bytes describe is answered; raises AssertionError if not as it must be."""
    choices = Choices(data)
    route = choices.pick(ROUTES)
    path = route.path.replace("{id}", choices.pick("1234"))
    event = http_event(route.method, path, choices.pick(CALLERS), choices.pick(BODIES))
    while not choices.is_empty:
        event = _spoiled(event, choices)
    reply = _world().answer(route.group, event)
    _check_form(reply)
    if _part_of(event, "requestContext", "http", "method") == "HEAD":
        assert not reply.get("body")
    else:
        _check_content(reply)
    if reply["statusCode"] < 400 and route.roles:
        assert _proved_role(event) in route.roles, "power that no authorizer gave"


def _spoiled(event: Any, choices: Choices) -> Any:
    """The event with one part removed or replaced, or another event in its place."""
    way = choices.number() % 16
    if way == 0:
        return choices.pick(EVENTS)
    *outer, name = choices.pick(PLACES)
    parts = event
    for step in outer:
        parts = parts.get(step) if isinstance(parts, dict) else None
    if not isinstance(parts, dict):
        return event
    if way < 4:
        parts.pop(name, None)
    else:
        parts[name] = choices.pick(VALUES) if way < 10 else choices.text()
    return event


def _check_form(reply: Any) -> None:
    """It is what the gateway can send."""
    headers, body = reply["headers"], reply.get("body", "")
    assert set(reply) <= {"statusCode", "headers", "body", "isBase64Encoded", "cookies"}
    assert json.loads(json.dumps(reply)) == reply
    assert body.encode() is not None and not reply.get("isBase64Encoded")
    assert all(type(value) is str and value.isprintable() for value in headers.values())
    assert _REQUEST_ID.fullmatch(headers["X-Request-Id"])


def _check_content(reply: Any) -> None:
    """It is what the contract says of this status."""
    headers, status, body = reply["headers"], reply["statusCode"], reply.get("body", "")
    if status in CODES:
        document = json.loads(body)
        assert headers["Content-Type"] == PROBLEM
        assert document["status"] == status and document["code"] in CODES[status]
        assert document["request_id"] == headers["X-Request-Id"]
        assert ("Allow" in headers) == (status == 405)
    elif status == 204:
        assert not body and 1 <= int(headers["Retry-After"]) <= 20
    else:
        assert status in (200, 201, 202), f"{status}: {body}"
        assert headers["Content-Type"] == "application/json"
        assert isinstance(json.loads(body), dict)


def _proved_role(event: Any) -> Any:
    try:
        identity = _part_of(event, "requestContext", "authorizer", "lambda", "identity")
        return json.loads(identity)["role"]
    except (KeyError, TypeError, ValueError):
        return None


def _part_of(event: Any, *path: str) -> Any:
    for name in path:
        event = event.get(name) if isinstance(event, dict) else None
    return event
