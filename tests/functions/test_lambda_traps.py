"""What serverless-wsgi and the emulators would make of events and answers, put right."""

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask, Response

from queuelog_core.http.lambda_adapter import handle
from queuelog_core.queue import Queue
from tests.functions.conftest import Invoke
from tests.functions.events import assert_problem, http_event, with_headers
from tests.support.factories import admin, new_job, producer, worker

EMAIL = '{"type":"email"}'


def answered(view: Callable[[], Any]) -> Any:
    """What the gateway gets when the application answers so."""
    app = Flask("answers")
    app.add_url_rule("/jobs", view_func=view, endpoint="view")
    return json.loads(json.dumps(handle(lambda: app, http_event("GET", "/jobs"), None)))


def test_cookies_of_an_answer_stand_apart_and_none_gets_lost() -> None:
    def view() -> Response:
        response = Response("{}", content_type="application/json")
        for name in ("one", "two", "three"):
            response.set_cookie(name, "1")
        return response

    reply = answered(view)

    assert reply["cookies"] == [f"{name}=1; Path=/" for name in ("one", "two", "three")]
    assert not [name for name in reply["headers"] if name.lower() == "set-cookie"]


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/problem+json", "text/plain", "text/html"]
)
def test_text_is_sent_as_text(media_type: str) -> None:
    reply = answered(lambda: Response("é😀", content_type=f"{media_type}; charset=utf-8"))

    assert (reply["body"], reply["isBase64Encoded"]) == ("é😀", False)


@pytest.mark.parametrize("media_type", ["image/png", "application/octet-stream"])
def test_bytes_are_sent_as_base64(media_type: str) -> None:
    every_byte = bytes(range(256))

    reply = answered(lambda: Response(every_byte, content_type=media_type))

    assert reply["isBase64Encoded"] is True
    assert base64.b64decode(reply["body"]) == every_byte


@pytest.mark.parametrize(
    "error", [RuntimeError("hunter2"), KeyError("hunter2"), RecursionError(), MemoryError()]
)
def test_an_application_that_breaks_is_answered_for(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """A function that raised would be a 502, and on the emulator a wait for the time-out."""

    def broken(_environ: Any, _start: Any) -> Iterator[bytes]:
        raise error

    app: Any = broken

    reply = handle(lambda: app, http_event("GET", "/jobs"), None)

    assert_problem(reply, 500, "internal-error")
    assert "hunter2" not in json.dumps(reply) + str([vars(record) for record in caplog.records])


@pytest.mark.parametrize("setting", [None, "", "true", "false"])
@pytest.mark.parametrize("stage", ["$default", "dev"])
def test_the_stage_stands_in_no_address_whatever_the_host_is_called(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, setting: str | None, stage: str
) -> None:
    monkeypatch.delenv("STRIP_STAGE_PATH", raising=False)
    if setting is not None:
        monkeypatch.setenv("STRIP_STAGE_PATH", setting)
    event = http_event("POST", "/jobs", producer(), EMAIL)
    event["requestContext"]["stage"] = stage
    assert "amazonaws.com" in event["headers"]["host"]

    assert invoke("enqueue", event)["headers"]["Location"] == "/jobs/1"


@pytest.mark.parametrize("name", ["host", "x-forwarded-proto", "x-forwarded-port", "user-agent"])
def test_headers_that_the_emulator_leaves_out_are_not_missed(invoke: Invoke, name: str) -> None:
    event = http_event("POST", "/jobs", producer(), EMAIL)
    del event["headers"][name]

    reply = invoke("enqueue", event)

    assert (reply["statusCode"], reply["headers"]["Location"]) == (201, "/jobs/1")


def test_a_request_as_the_emulator_sends_it_is_read(invoke: Invoke) -> None:
    """Nulls where AWS leaves parts out, one more authorizer, the client's casing of headers."""
    event = http_event("POST", "/jobs", producer(), EMAIL)
    event["requestContext"]["authorizer"]["jwt"] = {}
    event["requestContext"]["requestId"] = "offlineContext_resourceId"
    event["headers"] = {name.title(): value for name, value in event["headers"].items()}
    nulls = ("cookies", "pathParameters", "queryStringParameters", "stageVariables")

    reply = invoke("enqueue", event | dict.fromkeys(nulls))

    assert reply["statusCode"] == 201
    assert reply["headers"]["X-Request-Id"] != "offlineContext_resourceId"


@pytest.mark.parametrize("value", [1, True, [], {}, ["x"]], ids=str)
@pytest.mark.parametrize("name", ["rawPath", "rawQueryString", "headers", "body", "requestContext"])
def test_a_part_of_another_type_is_a_bad_request(invoke: Invoke, name: str, value: Any) -> None:
    """B61: whatever comes, the function answers."""
    event = http_event("POST", "/jobs/claim", worker()) | {name: value}
    if type(value) is type(http_event("GET", "/")[name]):
        event["headers"] = {"x": value}

    assert_problem(invoke("claim", event), 400, "invalid-json")


@pytest.mark.parametrize(
    "name", ["x-api-key", "content-type", "content-encoding", "idempotency-key", "cookie"]
)
def test_a_header_that_is_null_is_a_header_that_was_not_sent(invoke: Invoke, name: str) -> None:
    """B61."""
    event = http_event("POST", "/jobs/claim", worker())
    event["headers"][name] = None

    assert invoke("claim", event)["statusCode"] == 204


@pytest.mark.parametrize("command", ["exec", "command", "manage", "flask"])
def test_an_event_that_carries_a_program_runs_nothing(
    invoke: Invoke, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """The npm plugin's own handler would run it."""
    event = {"_serverless-wsgi": {"command": command, "data": "print(6 * 7)"}}

    assert_problem(invoke("claim", event), 400, "invalid-json")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "body", [b"\xff", b'{"type":"\xe9mail"}', b"\x00\xd8", EMAIL.encode("utf-16")]
)
def test_a_body_that_is_not_utf_8_is_refused(invoke: Invoke, body: bytes) -> None:
    """B42: the gateway wraps what is no text."""
    wrapped = {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}

    reply = invoke("enqueue", http_event("POST", "/jobs", producer()) | wrapped)

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip", "deflate", "identity"])
def test_a_body_that_is_compressed_is_not_read(invoke: Invoke, encoding: str) -> None:
    """B43: a few kilobytes would fill the memory."""
    bomb = base64.b64encode(gzip.compress(b" " * 50_000_000)).decode()
    event = http_event("POST", "/jobs", producer()) | {"body": bomb, "isBase64Encoded": True}

    reply = invoke("enqueue", with_headers(event, content__encoding=encoding))

    assert_problem(reply, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("group", "method", "path"),
    [
        ("get", "POST", "/jobs/1/complete"),
        ("get", "GET", "/jobs/1/complete"),
        ("enqueue", "POST", "/jobs/claim"),
        ("list", "GET", "/jobs/1"),
        ("operate", "POST", "/jobs/1/complete"),
    ],
)
def test_a_slash_that_the_gateway_decoded_reaches_no_route_of_another_function(
    invoke: Invoke, queue: Queue, group: str, method: str, path: str
) -> None:
    """B10: it authorised /jobs/{id} for /jobs/1%2Fcomplete and hands over the decoded path."""
    queue.enqueue(admin(), new_job())
    invoke("claim", http_event("POST", "/jobs/claim", admin()))

    reply = invoke(group, http_event(method, path, admin(), '{"attempt":1}'))

    assert_problem(reply, 404, "not-found")
    job = queue.store.get(1)
    assert job is not None
    assert job.status == "running"


@pytest.mark.parametrize("caller", [producer(), worker()], ids=["producer", "worker"])
def test_a_decoded_path_within_a_function_still_asks_for_the_role(
    invoke: Invoke, queue: Queue, caller: Any
) -> None:
    """B10: the gateway asked the authorizer of cancel about /jobs/1%2Fredrive."""
    queue.enqueue(admin(), new_job())

    assert_problem(
        invoke("operate", http_event("POST", "/jobs/1/redrive", caller)), 403, "forbidden"
    )
