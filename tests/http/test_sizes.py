"""Sizes: what is measured is compact UTF-8 JSON, however the request spells it."""

import pytest
from werkzeug.test import TestResponse

from tests.support.http import Api, assert_problem, faults, json_of

DOCUMENT_BYTES_MAX = 65_536
REQUEST_BYTES_MAX = 1024 * 1024

# What a character is sent as, and how many bytes its compact form has.
SPELLINGS = [
    pytest.param("a", 1, id="ASCII"),
    pytest.param("é", 2, id="two bytes"),
    pytest.param(r"\u00e9", 2, id="two bytes, escaped"),
    pytest.param("€", 3, id="three bytes"),
    pytest.param("😀", 4, id="four bytes"),
    pytest.param(r"\ud83d\ude00", 4, id="four bytes, escaped"),
    pytest.param(r"\/", 1, id="an escape that is not needed"),
    pytest.param(r"\"", 2, id="an escape that is needed"),
    pytest.param(r"\u0000", 6, id="NUL"),
]


def text_of(spelling: str, width: int, size: int) -> str:
    """A JSON string whose compact form, quotes included, has exactly `size` bytes."""
    count, rest = divmod(size - 2, width)
    return '"' + spelling * count + "a" * rest + '"'


def enqueue(api: Api, text: str) -> TestResponse:
    raw = f'{{"type": "email", "payload": {{ "s" : {text} }} }}'.encode()
    return api.call("POST", "/jobs", "producer", raw=raw)


def complete(api: Api, text: str) -> TestResponse:
    api.enqueue()
    claimed = api.claim()
    raw = f'{{ "result" : {text} }}'.encode()
    return api.call("POST", f"/jobs/{claimed['id']}/complete", "worker", raw=raw)


@pytest.mark.parametrize(("spelling", "width"), SPELLINGS)
def test_a_payload_of_65536_bytes_is_accepted(api: Api, spelling: str, width: int) -> None:
    """B06."""
    around = len('{"s":}')

    reply = enqueue(api, text_of(spelling, width, DOCUMENT_BYTES_MAX - around))

    assert reply.status_code == 201


@pytest.mark.parametrize(("spelling", "width"), SPELLINGS)
def test_a_payload_of_one_byte_more_is_refused(api: Api, spelling: str, width: int) -> None:
    """B06."""
    around = len('{"s":}')

    reply = enqueue(api, text_of(spelling, width, DOCUMENT_BYTES_MAX - around + 1))

    assert faults(reply) == [("payload", "too-large")]
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


def test_characters_are_not_what_is_measured(api: Api) -> None:
    """B06: forty thousand characters, eighty thousand bytes."""
    reply = enqueue(api, '"' + "é" * 40_000 + '"')

    assert faults(reply) == [("payload", "too-large")]


def test_blanks_between_the_tokens_are_not_measured(api: Api) -> None:
    raw = b'{"type":"email","payload":{"s":' + b" " * 100_000 + b'"a"}}'

    reply = api.call("POST", "/jobs", "producer", raw=raw)

    assert reply.status_code == 201


@pytest.mark.parametrize(("spelling", "width"), SPELLINGS)
def test_a_result_of_65536_bytes_is_accepted(api: Api, spelling: str, width: int) -> None:
    """B06."""
    reply = complete(api, text_of(spelling, width, DOCUMENT_BYTES_MAX))

    assert reply.status_code == 200


@pytest.mark.parametrize(("spelling", "width"), SPELLINGS)
def test_a_result_of_one_byte_more_is_refused(api: Api, spelling: str, width: int) -> None:
    """B06: the worker may still report; nothing was recorded."""
    reply = complete(api, text_of(spelling, width, DOCUMENT_BYTES_MAX + 1))

    assert faults(reply) == [("result", "too-large")]
    assert api.get({"id": 1})["status"] == "running"


def padded(size: int) -> bytes:
    body = b'{"type":"email"'
    return body + b" " * (size - len(body) - 1) + b"}"


def test_a_request_of_one_mebibyte_is_read(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", raw=padded(REQUEST_BYTES_MAX))

    assert reply.status_code == 201


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("producer", "/jobs"),
        ("worker", "/jobs/claim"),
        ("worker", "/jobs/1/complete"),
        ("worker", "/jobs/1/fail"),
    ],
)
def test_a_request_of_one_byte_more_is_too_large(api: Api, key: str, path: str) -> None:
    reply = api.call("POST", path, key, raw=padded(REQUEST_BYTES_MAX + 1))

    assert_problem(reply, 413, "payload-too-large")


CHUNKED = {
    "CONTENT_LENGTH": "",
    "HTTP_TRANSFER_ENCODING": "chunked",
    "wsgi.input_terminated": True,
}


def send_in_chunks(api: Api, raw: bytes) -> TestResponse:
    """A body without a Content-Length; the server tells where it ends."""
    return api.client.post(
        "/jobs",
        data=raw,
        content_type="application/json",
        headers={"X-API-Key": "producer"},
        environ_overrides=CHUNKED,
    )


def test_a_body_in_chunks_is_read(api: Api) -> None:
    reply = send_in_chunks(api, b'{"type":"email"}')

    assert reply.status_code == 201


def test_a_body_in_chunks_is_never_cut_at_the_limit(api: Api) -> None:
    """What is left of it would be a request that nobody sent."""
    reply = send_in_chunks(api, b'{"type":"email"}' + b" " * REQUEST_BYTES_MAX + b"x")

    assert_problem(reply, 413, "payload-too-large")
