"""Inputs that the fuzzers of tests/fuzz found, each with the answer that is right."""

import json
from typing import Any

import pytest

from queuelog_core.http.app import create_app
from queuelog_core.http.lambda_adapter import handle, identify
from queuelog_core.http.routes import routes_of
from tests.functions.events import assert_problem, http_event, with_headers
from tests.support.factories import admin
from tests.support.http import Api

EMAIL = '{"type":"email"}'


def answer(api: Api, group: str, event: Any) -> Any:
    app = create_app(api.queue, identify, routes_of(group))
    return handle(lambda: app, event, None)


OBJECTS = ["headers", "requestContext", "requestContext http", "requestContext authorizer"]
TEXTS = ["rawPath", "rawQueryString", "body", "requestContext stage", "requestContext http method"]
TEXTS += ["headers content-type", "headers host", "headers x"]


@pytest.mark.parametrize(
    ("place", "value"),
    [(place, value) for place in OBJECTS + TEXTS for value in (0, 1, True, 1.5, [], [None])]
    + [(place, "x") for place in OBJECTS]
    + [(place, {"a": 1}) for place in TEXTS],
    ids=str,
)
def test_an_event_with_a_part_of_another_type_is_no_request_of_a_gateway(
    api: Api, place: str, value: Any
) -> None:
    """It was 500, as if the function had failed."""
    event = http_event("POST", "/jobs", admin(), EMAIL)
    *outer, name = place.split()
    parts = event
    for step in outer:
        parts = parts[step]
    parts[name] = value

    assert_problem(answer(api, "enqueue", event), 400, "invalid-json")


@pytest.mark.parametrize("value", [1, "x", [None], [1], {"a": 1}, ["a=1"]], ids=str)
def test_cookies_of_any_form_change_nothing(api: Api, value: Any) -> None:
    """Nobody here reads them; in another form than a list of texts they were 500."""
    event = http_event("POST", "/jobs", admin(), EMAIL, cookies=value)

    assert answer(api, "enqueue", event)["statusCode"] == 201


@pytest.mark.parametrize("name", ["rawPath", "rawQueryString"])
def test_half_a_surrogate_pair_in_the_address_is_no_fault_of_the_function(
    api: Api, name: str
) -> None:
    """It was 500: no bytes stand for it, and WSGI wants bytes."""
    event = http_event("GET", "/jobs", admin(), rawQueryString="") | {name: "/jobs?\ud800"}

    assert answer(api, "list", event)["statusCode"] in (404, 422)


def test_half_a_surrogate_pair_as_a_method_is_a_method_that_is_not_allowed(api: Api) -> None:
    event = http_event("\ud800", "/jobs", admin())

    assert_problem(answer(api, "list", event), 405, "method-not-allowed")


def test_a_header_that_is_null_was_not_sent(api: Api) -> None:
    """It was read as the text None, which is a key: the second job became the first."""
    event = with_headers(http_event("POST", "/jobs", admin(), EMAIL))
    event["headers"] |= {"idempotency-key": None, "x-request-id": None, "content-encoding": None}

    replies = [answer(api, "enqueue", event) for _ in range(2)]

    assert [reply["statusCode"] for reply in replies] == [201, 201]
    assert {json.loads(reply["body"])["idempotency_key"] for reply in replies} == {None}
    assert "None" not in [reply["headers"]["X-Request-Id"] for reply in replies]


@pytest.mark.parametrize("value", ["a\r\nb", "a\nx-api-key: b", "\r", "\n"])
def test_a_header_of_two_lines_is_no_request_of_a_gateway(api: Api, value: str) -> None:
    """It was 500."""
    event = with_headers(http_event("POST", "/jobs", admin(), EMAIL), x=value)

    assert_problem(answer(api, "enqueue", event), 400, "invalid-json")


@pytest.mark.parametrize("proved", ["[" * 100_000, "1", "null", '{"name": [1]}', [1], {"a": 1}])
def test_an_identity_that_is_none_is_a_missing_key(api: Api, proved: Any) -> None:
    """One that is nested very deep was 500."""
    event = http_event("GET", "/jobs", admin())
    event["requestContext"]["authorizer"]["lambda"]["identity"] = proved

    assert_problem(answer(api, "list", event), 401, "unauthorized")


@pytest.mark.parametrize(
    ("before", "after"), [("", "e9"), ("", ".5"), ("-", ""), ("1", ""), ("", "1")]
)
def test_a_number_around_a_deep_part_does_not_make_it_json(
    api: Api, before: str, after: str
) -> None:
    """The deep part was judged as if a 0 stood there, and `0e9` is a number."""
    body = "[" * 64 + before + "[0]" + after + "]" * 64

    reply = api.call("POST", "/jobs", "producer", raw=body.encode())

    assert reply.status_code == 400, reply.get_data(as_text=True)
