"""Paths and methods: only what the route table names is served, in one spelling."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.http import Api, assert_problem

ALLOWED = [
    ("/jobs", "GET, HEAD, POST"),
    ("/jobs/claim", "POST"),
    ("/jobs/1", "GET, HEAD"),
    ("/jobs/1/complete", "POST"),
    ("/jobs/1/fail", "POST"),
    ("/stats", "GET, HEAD"),
    ("/whoami", "GET, HEAD"),
    ("/health", "GET, HEAD"),
    ("/openapi.json", "GET, HEAD"),
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]


def send(api: Api, method: str, path: str, **environ: Any) -> TestResponse:
    """A request whose path reaches the application exactly as it is spelled."""
    spelled = {"PATH_INFO": path, "REQUEST_URI": path, **environ}
    return api.client.open(method=method, headers={"X-API-Key": "admin"}, environ_overrides=spelled)


def running_job(api: Api) -> None:
    api.enqueue()
    api.claim("admin")
    api.enqueue()


@pytest.mark.parametrize(
    ("method", "sent", "decoded"),
    [
        ("POST", "/jobs/1%2Fcomplete", "/jobs/1/complete"),
        ("POST", "/jobs/1%2fcomplete", "/jobs/1/complete"),
        ("POST", "/jobs/%31/complete", "/jobs/1/complete"),
        ("GET", "/jobs%2F1", "/jobs/1"),
        ("GET", "/jobs/%31", "/jobs/1"),
        ("POST", "/jobs/%63laim", "/jobs/claim"),
        ("POST", "/%6Aobs/claim", "/jobs/claim"),
        ("GET", "/jobs/1%3Fx", "/jobs/1?x"),
        ("GET", "/jobs/1%23", "/jobs/1#"),
        ("GET", "/jobs/1%00", "/jobs/1\0"),
        ("GET", "/jobs/1%0A", "/jobs/1\n"),
        ("GET", "/jobs/1%", "/jobs/1%"),
        ("GET", "/health%20", "/health "),
        ("GET", "/jobs/%E9", "/jobs/\xe9"),
    ],
)
@pytest.mark.parametrize("key", ["worker", None])
def test_a_path_with_an_escape_is_not_found(
    api: Api, key: str | None, method: str, sent: str, decoded: str
) -> None:
    """B10: what was authorised is the path that was sent, not the decoded one."""
    running_job(api)
    headers = {} if key is None else {"X-API-Key": key}
    environ = {"PATH_INFO": decoded, "REQUEST_URI": f"{sent}?status=pending"}

    reply = api.client.open(method=method, headers=headers, environ_overrides=environ)

    assert_problem(reply, 404, "not-found")
    assert [api.get({"id": n})["status"] for n in (1, 2)] == ["running", "pending"]


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "//", "//jobs", "/jobs//", "/jobs//1", "//jobs/1", "/jobs/1//", "/./jobs/1"),
        *("/jobs/../jobs/1", "/jobs/1/..", "/JOBS/1", "/Jobs", "/jobs/1/", "/jobs/1;a=b"),
        *("/jobs/1/attempts/2", "/jobs/1/complete/now", "/v1/jobs", "/dev/jobs/1", "/favicon.ico"),
        *("/docs", "/dashboard", "/jobs\\1", "/health/", "/stats/", "/openapi.yaml", "/static/x"),
    ],
)
def test_another_path_is_not_found(api: Api, path: str) -> None:
    """B10."""
    running_job(api)

    reply = send(api, "GET", path)

    assert_problem(reply, 404, "not-found")


@pytest.mark.parametrize(
    "path",
    ["/jobs/", "//jobs", "/jobs/claim/", "//jobs/claim", "/jobs//claim", "/jobs/1//fail"],
)
def test_a_slash_too_many_does_nothing(api: Api, path: str) -> None:
    running_job(api)
    before = api.call("GET", "/jobs").data

    reply = send(api, "POST", path, CONTENT_TYPE="application/json")

    assert_problem(reply, 404, "not-found")
    assert api.call("GET", "/jobs").data == before


@pytest.mark.parametrize(("path", "allow"), ALLOWED)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("key", ["admin", None])
def test_another_method_is_not_allowed_and_the_allowed_ones_are_told(
    api: Api, key: str | None, method: str, path: str, allow: str
) -> None:
    """B48: OPTIONS and TRACE are nothing special, a key changes nothing."""
    reply = api.call(method, path, key)

    if method in allow.split(", "):
        assert reply.status_code != 405
    else:
        assert (reply.status_code, reply.headers["Allow"]) == (405, allow)
        assert reply.mimetype == "application/problem+json"


@pytest.mark.parametrize("path", ["/jobs", "/jobs/1", "/jobs/2", "/stats", "/whoami", "/health"])
@pytest.mark.parametrize("key", ["admin", "producer", "stranger", "", None])
def test_head_answers_as_get_does_without_a_body(api: Api, key: str | None, path: str) -> None:
    """B48."""
    api.enqueue()

    got = api.call("GET", path, key)
    head = api.call("HEAD", path, key)

    assert head.status_code == got.status_code
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert head.data == b""


def test_another_host_or_port_changes_nothing(api: Api) -> None:
    reply = send(api, "GET", "/whoami", HTTP_HOST="example.com:99", SERVER_NAME="10.0.0.1")

    assert reply.status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-Original-URL", "/jobs/claim"),
        ("X-Rewrite-URL", "/jobs/claim"),
        ("X-Forwarded-Prefix", "/jobs"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "gopher"),
    ],
)
def test_no_header_changes_the_route_or_the_location(api: Api, name: str, value: str) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email"}, headers={name: value})

    assert reply.status_code == 201
    assert reply.headers["Location"] == "/jobs/1"
