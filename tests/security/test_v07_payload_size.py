"""V-07: one request could fill the disk and every reader's memory; now each document, each text,
the request and the page have an end."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from tests.support.http import Api, assert_problem, faults, json_of

DOCUMENT_BYTES_MAX = 65_536
REQUEST_BYTES_MAX = 1024 * 1024
PAGE_BYTES_MAX = 2 * 1024 * 1024
AROUND_TEXT = len('{"s":""}')


def nested(depth: int) -> Any:
    document: Any = {}
    for _ in range(depth):
        document = {"a": document}
    return document


# Each is more than 65,536 bytes as compact UTF-8 JSON, and less than a request may have.
LARGE: dict[str, Callable[[], Any]] = {
    "one byte too many": lambda: {"s": "x" * (DOCUMENT_BYTES_MAX - AROUND_TEXT + 1)},
    "a long text": lambda: {"s": "x" * 900_000},
    "characters of four bytes": lambda: {"s": "😀" * 17_000},
    "characters that need an escape": lambda: {"s": '"' * 33_000},
    "NUL": lambda: {"s": "\0" * 11_000},
    "a long name": lambda: {"x" * 70_000: 1},
    "many names": lambda: {f"name{number}": number for number in range(6_000)},
    "many numbers": lambda: {"n": [1] * 40_000},
    "many empty lists": lambda: {"n": [[]] * 40_000},
    "one long number": lambda: {"n": [10**4_000] * 17},
    "many texts": lambda: {"n": ["x" * 1000] * 66},
}
every_large_document = pytest.mark.parametrize("kind", LARGE)


def enqueue(api: Api, payload: Any) -> Any:
    return api.call("POST", "/jobs", "producer", {"type": "email", "payload": payload})


def jobs(api: Api) -> Any:
    return json_of(api.call("GET", "/jobs"))["jobs"]


def running_job(api: Api) -> Any:
    api.enqueue()
    return api.claim()


@every_large_document
def test_a_payload_that_is_too_large_is_refused_and_not_stored(api: Api, kind: str) -> None:
    reply = enqueue(api, LARGE[kind]())

    assert faults(reply) == [("payload", "too-large")]
    assert jobs(api) == []


@pytest.mark.parametrize("key", ["producer", "admin"])
def test_the_bound_is_the_same_for_every_key(api: Api, key: str) -> None:
    largest = "x" * (DOCUMENT_BYTES_MAX - AROUND_TEXT)

    replies = [
        api.call("POST", "/jobs", key, {"type": "email", "payload": {"s": text}})
        for text in (largest, largest + "x")
    ]

    assert [reply.status_code for reply in replies] == [201, 422]
    assert [job["payload"] for job in jobs(api)] == [{"s": largest}]


@every_large_document
def test_a_result_that_is_too_large_is_refused_and_the_job_still_runs(api: Api, kind: str) -> None:
    running = running_job(api)
    before = api.get(running)

    reply = api.report("complete", running, result=LARGE[kind]())

    assert faults(reply) == [("result", "too-large")]
    assert api.get(running) == before


def test_a_result_need_not_be_an_object_to_be_measured(api: Api) -> None:
    running = running_job(api)

    reply = api.report("complete", running, result="x" * (DOCUMENT_BYTES_MAX - 1))

    assert faults(reply) == [("result", "too-large")]
    assert api.get(running)["status"] == "running"


@pytest.mark.parametrize("text", ["x" * 900_000, "😀" * 60_000, "é" * 1_025, "\0" * 100_000])
def test_of_a_long_error_a_kilobyte_is_stored(api: Api, text: str) -> None:
    running = running_job(api)

    reply = api.report("fail", running, error=text)

    assert reply.status_code == 200
    assert 1_020 <= len(api.get(running)["error"].encode()) <= 1_024


@pytest.mark.parametrize("size", [65, 10_000, 900_000])
def test_a_long_error_code_is_refused_and_the_job_still_runs(api: Api, size: int) -> None:
    running = running_job(api)
    before = api.get(running)

    reply = api.report("fail", running, error_code="x" * size)

    assert [field for field, _ in faults(reply)] == ["error_code"]
    assert api.get(running) == before


@pytest.mark.parametrize("field", ["idempotency_key", "type", "priority", "run_at"])
@pytest.mark.parametrize("size", [256, 900_000])
def test_a_long_text_in_a_short_field_is_refused_and_not_stored(
    api: Api, field: str, size: int
) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", field: "x" * size})

    assert [name for name, _ in faults(reply)] == [field]
    assert len(reply.data) < 1_024
    assert jobs(api) == []


@pytest.mark.parametrize("depth", [64, 1_000, 100_000])
def test_a_payload_that_is_too_deep_is_refused_and_not_stored(api: Api, depth: int) -> None:
    payload = '{"a":' * depth + "{}" + "}" * depth

    raw = f'{{"type": "email", "payload": {payload}}}'.encode()
    reply = api.call("POST", "/jobs", "producer", raw=raw)

    assert reply.status_code == 422
    assert jobs(api) == []


def test_a_payload_that_is_not_too_deep_is_stored(api: Api) -> None:
    reply = enqueue(api, nested(60))

    assert reply.status_code == 201
    assert jobs(api)[0]["payload"] == nested(60)


def test_a_number_of_too_many_digits_is_refused_and_not_stored(api: Api) -> None:
    raw = b'{"type": "email", "payload": {"n": ' + b"9" * 60_000 + b"}}"

    reply = api.call("POST", "/jobs", "producer", raw=raw)

    assert reply.status_code == 422
    assert jobs(api) == []


PADDED: dict[str, Callable[[bytes], bytes]] = {
    "blanks behind": lambda body: body.ljust(REQUEST_BYTES_MAX + 1),
    "blanks in front": lambda body: body.rjust(REQUEST_BYTES_MAX + 1),
    "an unknown field": lambda body: body[:-1] + b', "x": "' + b"x" * REQUEST_BYTES_MAX + b'"}',
    "no JSON": lambda body: body + b"x" * REQUEST_BYTES_MAX,
    "no text": lambda body: b"\xff" + body.ljust(REQUEST_BYTES_MAX),
    "many times as much": lambda body: body.ljust(20 * REQUEST_BYTES_MAX),
}


@pytest.mark.parametrize("kind", PADDED)
@pytest.mark.parametrize("path", ["/jobs", "/jobs/claim", "/jobs/1/complete", "/jobs/1/fail"])
def test_a_request_that_is_too_large_is_refused_and_changes_nothing(
    api: Api, path: str, kind: str
) -> None:
    running_job(api)
    api.enqueue()
    before = jobs(api)
    raw = PADDED[kind](b'{"type": "email"}' if path == "/jobs" else b'{"x": 1}')

    reply = api.call("POST", path, "producer" if path == "/jobs" else "worker", raw=raw)

    assert_problem(reply, 413, "payload-too-large")
    assert jobs(api) == before


def test_a_request_of_no_declared_length_is_refused_as_well(api: Api) -> None:
    body = b'{"type": "email"}'.ljust(REQUEST_BYTES_MAX + 1)

    reply = api.client.post(
        "/jobs",
        headers={"X-API-Key": "producer", "Transfer-Encoding": "chunked"},
        input_stream=BytesIO(body),
        content_type="application/json",
        environ_overrides={"wsgi.input_terminated": True},
    )

    assert_problem(reply, 413, "payload-too-large")
    assert jobs(api) == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity"])
def test_a_body_that_would_grow_when_unpacked_is_refused_and_not_stored(
    api: Api, encoding: str
) -> None:
    body = json.dumps({"type": "email"}).encode()

    headers = {"Content-Encoding": encoding}
    reply = api.call("POST", "/jobs", "producer", raw=body, headers=headers)

    assert_problem(reply, 415, "unsupported-media-type")
    assert jobs(api) == []


@pytest.mark.parametrize("key", ["producer", "worker", "admin"])
def test_a_page_of_large_jobs_ends_before_it_fills_the_readers_memory(api: Api, key: str) -> None:
    number = PAGE_BYTES_MAX // DOCUMENT_BYTES_MAX + 8
    for _ in range(number):
        assert enqueue(api, {"s": "x" * (DOCUMENT_BYTES_MAX - AROUND_TEXT)}).status_code == 201

    reply = api.call("GET", "/jobs?limit=200", key)

    page = json_of(reply)
    assert 0 < len(page["jobs"]) < number
    assert len(reply.data) <= PAGE_BYTES_MAX + 2 * DOCUMENT_BYTES_MAX
    assert page["next_cursor"] is not None
