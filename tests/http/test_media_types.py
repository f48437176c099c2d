"""Which bodies are read at all: application/json in UTF-8, without any encoding around it."""

import gzip
import tracemalloc

import pytest

from tests.support.http import Api, assert_problem, json_of

BODY = b'{"type":"email"}'


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json ; charset="utf-8"',
        "Application/Json; Charset=Utf-8",
    ],
)
def test_json_in_utf8_is_read_however_it_is_spelled(api: Api, content_type: str) -> None:
    """B40."""
    reply = api.call("POST", "/jobs", "producer", raw=BODY, content_type=content_type)

    assert reply.status_code == 201


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "application/problem+json",
        "application/jsonp",
        "application/",
        "json",
        "text/json",
        "*/*",
        "application/json, text/plain",
        "text/plain; application/json",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/json; charset=us-ascii",
    ],
)
def test_any_other_type_or_charset_is_refused(api: Api, content_type: str | None) -> None:
    """B40."""
    reply = api.call("POST", "/jobs", "producer", raw=BODY, content_type=content_type)

    assert_problem(reply, 415, "unsupported-media-type")
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


@pytest.mark.parametrize("content_type", [None, "text/plain"])
@pytest.mark.parametrize("path", ["/jobs/claim", "/jobs/1/complete", "/jobs/1/fail"])
def test_a_worker_names_its_type_too(api: Api, path: str, content_type: str | None) -> None:
    reply = api.call("POST", path, "worker", raw=b"{}", content_type=content_type)

    assert_problem(reply, 415, "unsupported-media-type")


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip", "deflate", "identity", "GZIP"])
@pytest.mark.parametrize("raw", [BODY, gzip.compress(BODY)], ids=["plain", "compressed"])
def test_any_content_encoding_is_refused(api: Api, encoding: str, raw: bytes) -> None:
    """B43."""
    reply = api.call("POST", "/jobs", "producer", raw=raw, headers={"Content-Encoding": encoding})

    assert_problem(reply, 415, "unsupported-media-type")


def test_a_compressed_body_is_never_inflated(api: Api) -> None:
    """B43: a few kilobytes would fill the memory."""
    bomb = gzip.compress(b" " * 50_000_000)
    tracemalloc.start()

    reply = api.call("POST", "/jobs", "producer", raw=bomb, headers={"Content-Encoding": "gzip"})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert_problem(reply, 415, "unsupported-media-type")
    assert peak < 5_000_000


def test_a_compressed_body_without_the_header_is_no_json(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", raw=gzip.compress(BODY))

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.parametrize("content_type", [None, "application/json"])
def test_a_claim_needs_no_body(api: Api, content_type: str | None) -> None:
    """B41."""
    api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", raw=b"", content_type=content_type)

    assert reply.status_code == 200


@pytest.mark.parametrize("content_type", [None, "application/json"])
@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_report_needs_no_body(api: Api, verb: str, content_type: str | None) -> None:
    """B41."""
    api.enqueue()
    api.claim()

    reply = api.call("POST", f"/jobs/1/{verb}", "worker", raw=b"", content_type=content_type)

    assert reply.status_code == 200


def test_answers_are_json_in_utf8(api: Api) -> None:
    api.enqueue(payload={"to": "Адель"})

    reply = api.call("GET", "/jobs/1")

    assert reply.headers["Content-Type"] == "application/json"
    assert "Адель".encode() in reply.data
