"""From the parts of an event to a request: paths, bodies, headers, each read once."""

import base64
import json
from typing import Any

import pytest

from queuelog_core.queue import Queue
from tests.functions.conftest import Invoke
from tests.functions.events import assert_problem, http_event, with_headers
from tests.support.factories import admin, new_job, producer, worker

EMAIL = '{"type":"email"}'


def encoded(text: str) -> dict[str, Any]:
    return {"body": text, "isBase64Encoded": True}


@pytest.mark.parametrize("name", ["headers", "cookies", "body", "rawQueryString"])
@pytest.mark.parametrize("way", ["null", "absent"])
def test_a_part_may_be_null_or_absent(invoke: Invoke, name: str, way: str) -> None:
    """B61."""
    event = http_event("POST", "/jobs/claim", worker())
    event |= {name: None}
    if way == "absent":
        del event[name]

    assert invoke("claim", event)["statusCode"] == 204


def test_cookies_of_a_client_are_no_hindrance(invoke: Invoke) -> None:
    event = http_event("POST", "/jobs/claim", worker(), cookies=["a=1", "b=é; c"])

    assert invoke("claim", event)["statusCode"] == 204


@pytest.mark.parametrize(
    "body", [encoded(base64.b64encode(EMAIL.encode()).decode()), {"body": EMAIL}]
)
def test_a_body_is_read_plain_or_from_base64(invoke: Invoke, body: dict[str, Any]) -> None:
    """B42."""
    event = http_event("POST", "/jobs", producer()) | body

    assert invoke("enqueue", event)["statusCode"] == 201


@pytest.mark.parametrize(
    "body", [{"body": ""}, encoded(""), {"body": None, "isBase64Encoded": True}]
)
def test_an_empty_body_reads_as_an_empty_object(invoke: Invoke, body: dict[str, Any]) -> None:
    """B42."""
    event = http_event("POST", "/jobs/claim", worker()) | body

    assert invoke("claim", event)["statusCode"] == 204


@pytest.mark.parametrize(
    "text", ["e30", "e30==", "e3 0=", "{}", "e30=\n", "é30=", "e30=e30=", "===="]
)
def test_a_body_that_is_no_base64_is_refused(invoke: Invoke, text: str) -> None:
    """B42: unpadded, and with characters of another alphabet."""
    event = http_event("POST", "/jobs", producer()) | encoded(text)

    assert_problem(invoke("enqueue", event), 400, "invalid-json")


def test_a_body_that_is_no_base64_tells_the_key_first(invoke: Invoke) -> None:
    event = http_event("POST", "/jobs") | {"body": "e30", "isBase64Encoded": True}

    assert_problem(invoke("enqueue", event), 401, "unauthorized")


def test_a_body_of_more_than_a_mebibyte_is_refused(invoke: Invoke) -> None:
    event = http_event("POST", "/jobs", producer(), EMAIL + " " * 1024 * 1024)

    assert_problem(invoke("enqueue", event), 413, "payload-too-large")


def test_a_plain_body_that_is_no_unicode_is_refused(invoke: Invoke) -> None:
    event = http_event("POST", "/jobs", producer(), '{"type":"\ud800"}')

    assert_problem(invoke("enqueue", event), 400, "invalid-json")


@pytest.mark.parametrize(
    "path",
    [
        *("/jobs/%31", "/jobs/1?status=x", "/jobs/1%", "/jobs/%", "/jobs%2F1", "/jobs/1%00", "/%"),
        *("/jobs/1?", "/jobs/1 ", "/jobs/１", "/jobs/1#x", "/jobs/1;x", "/jobs/1/", "/jobs//1"),
        *("/dev/jobs/1", "/$default/jobs/1", "", "jobs/1x", "/jobs/\0"),
    ],
    ids=ascii,
)
def test_a_path_that_is_not_exactly_a_route_is_not_found(
    invoke: Invoke, queue: Queue, path: str
) -> None:
    """B09: the gateway has decoded the path once, and nothing decodes it again."""
    queue.enqueue(admin(), new_job())

    assert_problem(invoke("get", http_event("GET", path, admin())), 404, "not-found")


def test_a_path_that_is_null_is_not_found(invoke: Invoke) -> None:
    event = http_event("GET", "/jobs/1", admin(), rawPath=None)

    assert_problem(invoke("get", event), 404, "not-found")


def test_the_query_comes_from_its_own_part_only(invoke: Invoke) -> None:
    """B09."""
    plain = http_event("GET", "/jobs", admin(), rawQueryString="status=bogus")
    hidden = http_event("GET", "/jobs", admin(), queryStringParameters={"status": "bogus"})

    assert_problem(invoke("list", plain), 422, "validation-failed")
    assert invoke("list", hidden)["statusCode"] == 200


def test_a_header_in_utf8_is_the_key_of_the_body(invoke: Invoke) -> None:
    """The gateway hands headers over as text, a WSGI server as bytes."""
    by_header = with_headers(http_event("POST", "/jobs", producer(), EMAIL), idempotency__key="clé")
    by_body = http_event("POST", "/jobs", producer(), '{"type":"email","idempotency_key":"clé"}')

    first, again = invoke("enqueue", by_header), invoke("enqueue", by_body)

    assert [first["statusCode"], again["statusCode"]] == [201, 200]
    assert json.loads(again["body"])["id"] == 1


def test_a_body_that_its_client_sent_in_chunks_is_read(invoke: Invoke, queue: Queue) -> None:
    """It comes whole; read as empty, a claim for one type would take any."""
    queue.enqueue(admin(), new_job("email"))
    event = http_event("POST", "/jobs/claim", worker(), '{"types":["pdf"]}')
    event["headers"]["transfer-encoding"] = "chunked"

    assert invoke("claim", event)["statusCode"] == 204


@pytest.mark.parametrize("name", ["content-length", "x-forwarded-port", "x-forwarded-proto", "te"])
@pytest.mark.parametrize("value", ["", "0", "-1", "99999999", "x"])
def test_headers_about_the_transport_change_nothing(invoke: Invoke, name: str, value: str) -> None:
    event = http_event("POST", "/jobs", producer(), EMAIL)
    event["headers"][name] = value

    assert invoke("enqueue", event)["statusCode"] == 201
