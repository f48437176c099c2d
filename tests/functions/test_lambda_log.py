"""What a function writes: one JSON object a request on stderr, never what anybody sent."""

import json
from typing import Any

import pytest

from queuelog_core.errors import StoreUnavailable
from queuelog_core.http.app import create_app
from queuelog_core.http.lambda_adapter import handle, identify
from queuelog_core.http.routes import ROUTES
from queuelog_core.logs import set_up_logging
from queuelog_core.queue import Queue
from tests.functions.conftest import Invoke
from tests.functions.events import SCHEDULED, http_event, with_headers
from tests.support.factories import admin, new_job, producer, worker
from tests.support.http import failing, plain_types

FIELDS = {
    *("at", "level", "event", "request_id", "method", "route", "status", "ms", "key_id", "job_id")
}
KEY = "ql_worker_sEcReTsEcReTsEcReTsEcReTsEcReTsEcReTsEcReT_0a1b2c"
WORD = "hunter2"


@pytest.fixture
def invoke(invoke: Invoke, quiet_logging: None) -> Invoke:
    """A warm function that logs as one: to the stderr of the moment, which pytest changes."""

    def logging_invoke(group: str, event: Any) -> Any:
        set_up_logging("INFO")
        return invoke(group, event)

    return logging_invoke


def written(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """The lines of stderr; stdout, which emulators read answers from, stays empty."""
    out, err = capsys.readouterr()
    assert out == ""
    assert not [secret for secret in (KEY, WORD, "sEcReT", "203.0.113.7") if secret in err], err
    return [json.loads(line) for line in err.splitlines()]


def a_request(method: str, path: str, caller: Any, body: Any = None, **parts: Any) -> Any:
    """A request that holds a secret wherever a client can put one."""
    text = None if body is None else json.dumps(body)
    event = http_event(method, path, caller, text, cookies=[f"session={WORD}"], **parts)
    secrets = {"x__api__key": KEY, "cookie": WORD, "referer": WORD, "user__agent": WORD}
    return with_headers(event, x__request__id="asked-1", **secrets)


def test_a_request_is_one_line_with_its_ids_its_route_and_how_it_ended(
    invoke: Invoke, capsys: pytest.CaptureFixture[str]
) -> None:
    caller = producer()._replace(key_id="key_0123456789ab")
    body = {"type": "email", "payload": {"note": WORD}, "idempotency_key": WORD}

    invoke("enqueue", a_request("POST", "/jobs", caller, body, rawQueryString=f"a={WORD}"))

    (line,) = written(capsys)
    assert line.keys() == FIELDS
    assert isinstance(line["ms"], float) and line["ms"] >= 0
    expected = {
        "level": "info",
        "event": "request",
        "request_id": "asked-1",
        "method": "POST",
        "route": "enqueue",
        "status": 201,
        "key_id": "key_0123456789ab",
        "job_id": 1,
    }
    assert line == line | expected


BODIES: dict[str, Any] = {
    "enqueue": {"type": "email", "payload": {"note": WORD}},
    "batch": {"jobs": [{"type": "email", "payload": {"note": WORD}, "idempotency_key": WORD}]},
    "complete": {"attempt": 1, "result": WORD},
    "fail": {"attempt": 1, "error": WORD, "error_code": "broken"},
    "redrive_many": {"all": True, "dry_run": True},
}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_writes_one_line_that_names_it_and_no_value(
    invoke: Invoke, queue: Queue, capsys: pytest.CaptureFixture[str], route: Any
) -> None:
    queue.enqueue(admin(), new_job("email", {"note": WORD}, idempotency_key=WORD))
    invoke("claim", http_event("POST", "/jobs/claim", admin()))
    capsys.readouterr()
    body = BODIES.get(route.name, {}) if route.method == "POST" else None
    event = a_request(route.method, route.path.replace("{id}", "1"), admin(), body)

    reply = invoke(route.group, event)

    (line,) = written(capsys)
    assert (line["route"], line["status"]) == (route.name, reply["statusCode"])
    assert line.keys() - {"jobs"} == FIELDS
    assert line["key_id"] == ("-" if not route.roles else admin().key_id)


@pytest.mark.parametrize(
    ("group", "event", "status"),
    [
        ("get", a_request("GET", f"/{WORD}", admin()), 404),
        ("get", a_request("GET", f"/jobs/{WORD}", admin()), 404),
        ("get", a_request(WORD, "/jobs/1", admin()), 405),
        ("list", a_request("GET", "/jobs", admin(), rawQueryString=f"{WORD}={WORD}"), 422),
        ("enqueue", a_request("POST", "/jobs", producer(), {"type": WORD}), 422),
        ("enqueue", a_request("POST", "/jobs", producer(), {WORD: WORD}), 422),
        ("enqueue", a_request("POST", "/jobs", producer()) | {"body": WORD}, 400),
        ("claim", a_request("POST", "/jobs/claim", producer()), 403),
        ("claim", a_request("POST", "/jobs/claim", None), 401),
    ],
    ids=range(9),
)
def test_a_refusal_is_one_line_without_what_was_refused(
    invoke: Invoke, capsys: pytest.CaptureFixture[str], group: str, event: Any, status: int
) -> None:
    reply = invoke(group, event)

    (line,) = written(capsys)
    assert (reply["statusCode"], line["status"], line.keys()) == (status, status, FIELDS)
    assert WORD not in str({**reply, "body": ""})


def test_a_request_id_that_is_none_is_replaced_and_not_written(
    invoke: Invoke, capsys: pytest.CaptureFixture[str]
) -> None:
    event = with_headers(
        a_request("POST", "/jobs/claim", worker()), x__request__id=f'{WORD}","level":"info'
    )

    reply = invoke("claim", event)

    (line,) = written(capsys)
    assert line["request_id"] == reply["headers"]["X-Request-Id"] != ""


@pytest.mark.parametrize("fault", [StoreUnavailable("disk I/O error"), RuntimeError(WORD)])
def test_a_store_that_breaks_is_told_with_its_cause_beside_the_request(
    queue: Queue, quiet_logging: None, capsys: pytest.CaptureFixture[str], fault: Exception
) -> None:
    set_up_logging("INFO")
    broken = Queue(failing(queue.store, fault, "insert"), plain_types(), queue.clock)
    app = create_app(broken, identify)

    reply = handle(lambda: app, a_request("POST", "/jobs", producer(), {"type": "email"}), None)

    cause, line = written(capsys)
    assert (
        reply["statusCode"] == line["status"] == (503 if cause["event"] == "store-error" else 500)
    )
    assert cause["cause"] in ("disk I/O error", "RuntimeError")
    assert cause["request_id"] == line["request_id"] == "asked-1"


@pytest.mark.parametrize(
    "event", [SCHEDULED, None, [], {"version": "1.0", "body": WORD}], ids=range(4)
)
def test_an_event_that_is_no_request_prints_nothing(
    invoke: Invoke, capsys: pytest.CaptureFixture[str], event: Any
) -> None:
    invoke("claim", event)

    assert written(capsys) == []
