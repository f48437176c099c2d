"""Requests that no client of ours sends. Where a front differs the table says how.

`make soak` sends them to the emulators and to Lambda's runtime too.
"""

import gzip
import json

import pytest

from tests.fronts.front import Answer
from tests.fronts.scene import Scene

REQUEST_BYTES_MAX = 1024 * 1024
JSON_TYPE = ("Content-Type", "application/json")
# One emulator takes an escaped slash for a slash before it looks for a route, so that this is the
# admin's report on a job of the worker; the other refuses what is no UTF-8, and odd cookies.
OTHER_PATHS = {
    ("cloud", "/jobs/{id}%2Fcomplete"): 409,
    ("cloud", "/jobs/{id}%2fcomplete"): 409,
    ("cloud", "/jobs%2F{id}/complete"): 409,
    ("offline", "/jobs/%E9/complete"): 400,
}
ODD_COOKIES = ("=", "a")


def assert_status(scene: Scene, answer: Answer, wanted: int, **elsewhere: int) -> None:
    """The status, or the one of a front that is named."""
    assert answer.status == elsewhere.get(scene.front.name, wanted), answer


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/jobs/{id}%2Fcomplete"),
        ("POST", "/jobs/{id}%2fcomplete"),
        ("POST", "/jobs/{id}%252Fcomplete"),
        ("POST", "/jobs%2F{id}/complete"),
        ("POST", "/jobs/{id};x/complete"),
        ("POST", "/jobs/{id}%00/complete"),
        ("POST", "/jobs/{id}%0A/complete"),
        ("POST", "/jobs/{id}%3Fx/complete"),
        ("POST", "/jobs/{id}%23/complete"),
        ("POST", "/jobs/%D9%A1/complete"),
        ("POST", "/jobs/%EF%BC%91/complete"),
        ("POST", "/jobs/%E9/complete"),
        ("POST", "/jobs/0{id}/cancel"),
        ("POST", "/jobs/-{id}/cancel"),
        ("POST", "/jobs/{id}.0/cancel"),
        ("POST", "/jobs/9007199254740992/cancel"),
        ("GET", "/j%C3%B6bs"),
        ("GET", "/JOBS"),
        ("GET", "/jobs/{id}/attempts/1"),
        ("PUT", "/jobs/{id}"),
        ("DELETE", "/jobs/{id}"),
        ("PATCH", "/stats"),
    ],
)
def test_a_path_that_is_no_route_does_nothing(scene: Scene, method: str, path: str) -> None:
    """B09, B10."""
    job = scene.running()

    answer = scene.call(method, path.replace("{id}", str(job["id"])), "admin", None)

    undeclared = method in ("PUT", "DELETE", "PATCH") and not scene.front.gateway
    usual = 405 if undeclared else 404
    assert answer.status == OTHER_PATHS.get((scene.front.name, path), usual), answer
    assert scene.job(job) == job


@pytest.mark.parametrize("sent", ["%31", "1%"])
def test_an_escape_that_means_an_id_is_no_second_spelling_of_it(scene: Scene, sent: str) -> None:
    """B10: at a gateway, which decodes a path once, it is the same path."""
    answer = scene.call("GET", f"/jobs/{sent}", "admin")

    assert answer.status in ((200, 400, 404) if scene.front.gateway else (404,)), answer


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("status=%70ending", 200),
        ("type=%C3%A9", 422),
        ("type=%E9", 422),
        ("limit=1&limit=2", 422),
        ("limit=1%26limit%3D2", 422),
        ("limit=%D9%A1", 422),
        ("created_after=2026-11-29T12:00:00%2B01:00", 200),
        ("created_after=2026-11-29T12:00:00+01:00", 422),
        ("cursor=%00", 422),
        ("=", 422),
        ("&&", 200),
    ],
)
def test_a_query_means_the_same_everywhere(scene: Scene, query: str, status: int) -> None:
    assert_status(scene, scene.call("GET", f"/jobs?{query}", "admin"), status)


@pytest.mark.parametrize(
    "header",
    [
        ("Idempotency-Key", "twice"),
        ("X-Request-Id", "twice"),
        ("Accept", "text/html"),
        ("X-Forwarded-For", "10.0.0.1"),
    ],
)
def test_a_header_that_comes_twice_does_no_harm(scene: Scene, header: tuple[str, str]) -> None:
    name, value = header
    twice = [(name, f"{value}-{scene.front.name}"), (name, f"again-{scene.front.name}")]

    answer = scene.call("POST", "/jobs", "producer", scene.new(), twice)

    assert answer.status == 201, answer


def test_two_keys_are_no_key_of_a_greater_power(scene: Scene) -> None:
    """Joined they are unknown; serverless-offline takes the last, which may not do this."""
    first = ("X-API-Key", scene.front.keys["admin"])

    answer = scene.call("POST", "/jobs/redrive", "producer", {"all": True}, [first])

    assert answer.status == 403, answer


@pytest.mark.parametrize(
    "header",
    [
        ("x_api_key", "admin"),
        ("X-Amzn-Oidc-Identity", "admin"),
        ("serverless.authorizer", '{"lambda": {"identity": "{}"}}'),
        ("X-Forwarded-User", "root"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-Original-URL", "/jobs/redrive"),
    ],
)
def test_no_header_gives_another_identity(scene: Scene, header: tuple[str, str]) -> None:
    name, value = header
    sent = [(name, scene.front.keys.get(value, value))]

    answer = scene.call("GET", "/whoami", "producer", None, sent)

    assert (answer.status, answer.json["name"]) == (200, "producer")


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/octet-stream", b'{"type":"email"}', 415),
        ("application/octet-stream", bytes(range(256)), 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("text/plain", b'{"type":"email"}', 415),
        ("application/json; charset=latin-1", b'{"type":"email"}', 415),
        ("application/json", b"\xff\xfe{}", 400),
        ("application/json", b'{"type":"email"', 400),
        ("application/json", b'{"type":"email","type":"pdf"}', 400),
        ("application/json", b'{"max_retries":NaN}', 400),
        ("application/json", b"\xef\xbb\xbf{}", 400),
        ("application/json", b"[]", 422),
        ("application/json; charset=UTF-8", b"{}", 422),
    ],
)
def test_a_body_of_another_kind_is_refused(
    scene: Scene, content_type: str, body: bytes, status: int
) -> None:
    sent = [("Content-Type", content_type)]

    assert_status(scene, scene.call("POST", "/jobs", "producer", body, sent), status)


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "identity"])
def test_a_compressed_body_is_refused_and_never_inflated(scene: Scene, encoding: str) -> None:
    """B43."""
    bomb = gzip.compress(b" " * 20_000_000)
    sent = [JSON_TYPE, ("Content-Encoding", encoding)]

    assert_status(scene, scene.call("POST", "/jobs", "producer", bomb, sent), 415)


def test_a_compressed_body_without_its_header_is_no_json(scene: Scene) -> None:
    body = gzip.compress(json.dumps(scene.new()).encode())

    assert_status(scene, scene.call("POST", "/jobs", "producer", body), 400)


@pytest.mark.parametrize(("more", "status"), [(-1, 201), (0, 201), (1, 413), (4096, 413)])
def test_a_request_of_up_to_a_mebibyte_is_taken(scene: Scene, more: int, status: int) -> None:
    """Blanks count for the request, and not for the payload."""
    body = json.dumps(scene.new()).encode()
    padded = body.ljust(REQUEST_BYTES_MAX + more)

    assert_status(scene, scene.call("POST", "/jobs", "producer", padded), status)


def test_a_payload_of_the_greatest_size_comes_back_as_it_was(scene: Scene) -> None:
    payload = {"s": "é" * ((65_536 - len('{"s":""}')) // 2)}

    job = scene.pending(payload=payload)

    assert scene.job(job, "producer")["payload"] == payload


@pytest.mark.parametrize(
    "cookie", ["a=1; b=2", "session=admin", "=", "a", "a=é".encode().decode("latin-1")]
)
def test_a_cookie_is_nothing_to_us(scene: Scene, cookie: str) -> None:
    sent = [("Cookie", cookie)]

    answer = scene.call("POST", "/jobs", "producer", scene.new(), sent)

    if cookie in ODD_COOKIES:
        assert_status(scene, answer, 201, offline=400)
    else:
        assert_status(scene, answer, 201)
    assert "set-cookie" not in answer.headers
