"""Events of the gateway become requests and answers; whatever comes, the function never raises."""

import json
from typing import Any

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.http.lambda_adapter import handle
from queuelog_core.http.routes import GROUPS, ROUTES, Route
from queuelog_core.queue import Queue
from tests.functions.conftest import Invoke
from tests.functions.events import SCHEDULED, assert_problem, http_event, with_headers
from tests.support.factories import admin, new_job, producer, worker

EMAIL = '{"type":"email"}'


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
@pytest.mark.parametrize("group", GROUPS)
def test_a_function_serves_only_the_routes_of_its_group(
    invoke: Invoke, queue: Queue, group: str, route: Route
) -> None:
    """A gateway that is wired wrongly gets 404 or 405, never somebody else's power."""
    queue.enqueue(admin(), new_job())
    event = http_event(route.method, route.path.replace("{id}", "1"), admin())

    reply = invoke(group, event)

    assert (reply["statusCode"] not in (404, 405)) == (route.group == group)


@pytest.mark.parametrize(
    "event",
    [
        SCHEDULED,
        {},
        {"version": "1.0", "path": "/jobs", "httpMethod": "GET", "headers": {}},
        {"version": "2.0"},
        {"version": "2.0", "rawPath": "/jobs", "requestContext": None},
        {"version": "2.0", "rawPath": "/jobs", "requestContext": {"http": None}},
        {"source": "serverless-plugin-warmup"},
        {"Records": [{"eventSource": "aws:sqs"}]},
        {"requestContext": {"elb": {}}},
        {"type": "REQUEST", "version": "2.0", "routeArn": "arn:aws:execute-api"},
        {"version": 2.0},
        [],
        None,
        "x",
    ],
    ids=lambda event: str(event)[:40],
)
def test_an_event_that_is_no_request_gets_a_refusal(invoke: Invoke, event: Any) -> None:
    """B61: a scheduled event is never answered with {} as if something had run."""
    reply = invoke("list", event)

    assert 400 <= reply["statusCode"] < 500
    assert json.loads(reply["body"])["status"] == reply["statusCode"]


def test_a_scheduled_event_is_a_bad_request(invoke: Invoke) -> None:
    """B61."""
    assert_problem(invoke("claim", SCHEDULED), 400, "invalid-json")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("hunter2"), 500, "internal-error"),
        (ConfigError("/var/task/hunter2"), 500, "internal-error"),
        (RecursionError("hunter2"), 500, "internal-error"),
        (StoreUnavailable("/mnt/efs/hunter2"), 503, "store-unavailable"),
    ],
)
def test_a_function_that_cannot_start_answers_and_never_raises(
    error: Exception, status: int, code: str
) -> None:
    def open_app() -> Any:
        raise error

    reply = handle(open_app, http_event("GET", "/jobs", admin()), None)

    assert_problem(reply, status, code)
    assert "hunter2" not in json.dumps(reply)
    assert ("Retry-After" in reply["headers"]) == (status == 503)


def test_every_answer_of_our_code_carries_a_request_id(invoke: Invoke) -> None:
    asked = {"x__request__id": "mine"}
    broken = http_event("POST", "/jobs", producer()) | {"body": "e30", "isBase64Encoded": True}
    events = [
        with_headers(http_event("POST", "/jobs", producer(), EMAIL), **asked),
        with_headers(http_event("POST", "/nowhere", producer(), EMAIL), **asked),
        with_headers(broken, **asked),
    ]

    replies = [invoke("enqueue", event) for event in events]

    assert [reply["headers"].get("X-Request-Id") for reply in replies] == ["mine"] * 3


def test_a_function_that_cannot_start_still_names_the_request() -> None:
    def open_app() -> Any:
        raise StoreUnavailable("gone")

    event = with_headers(http_event("GET", "/jobs", admin()), x__request__id="mine")

    reply = handle(open_app, event, None)

    assert reply["headers"].get("X-Request-Id") == "mine"
    assert json.loads(reply["body"])["request_id"] == "mine"


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (StoreUnavailable("the disk is full"), "the disk is full"),
        (ConfigError("QUEUELOG_STORE looks like …"), "QUEUELOG_STORE looks like …"),
        (ValueError("a value of the request"), "ValueError"),
    ],
)
def test_a_function_that_cannot_start_says_why_in_its_log(
    caplog: pytest.LogCaptureFixture, fault: Exception, cause: str
) -> None:
    def open_app() -> Any:
        raise fault

    handle(open_app, http_event("GET", "/jobs", admin()), None)

    (record,) = caplog.records
    assert getattr(record, "fields")["cause"] == cause  # noqa: B009 - logging adds it


@pytest.mark.parametrize("stage", ["$default", "dev", None])
def test_the_location_has_no_stage_and_no_host(invoke: Invoke, stage: str | None) -> None:
    event = http_event("POST", "/jobs", producer(), EMAIL)
    event["requestContext"]["stage"] = stage

    reply = invoke("enqueue", event)

    assert event["headers"]["host"].endswith("amazonaws.com")
    assert reply["headers"]["Location"] == "/jobs/1"


def test_answers_are_text_in_json(invoke: Invoke) -> None:
    body = '{"type":"email","payload":{"a":"é😀"}}'

    reply = invoke("enqueue", http_event("POST", "/jobs", producer(), body))

    assert reply["isBase64Encoded"] is False
    assert json.loads(reply["body"])["payload"] == {"a": "é😀"}
    assert reply["headers"]["Content-Type"] == "application/json"


def test_an_answer_without_content_has_no_body(invoke: Invoke) -> None:
    reply = invoke("claim", http_event("POST", "/jobs/claim", worker()))

    assert reply["statusCode"] == 204
    assert not reply.get("body")
    assert 1 <= int(reply["headers"]["Retry-After"]) <= 20
