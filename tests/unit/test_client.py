"""The HTTP client against a server that answers as it is told, oddly or not at all."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from queuelog_core.client import RETRY_AFTER_SECONDS_MAX, Client, Refused, Unreachable

JOB = {"id": 7, "attempt": 2, "type": "email"}
Answer = tuple[int, dict[str, str], bytes]


class Script:
    """What the server answers next, and what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = (200, {}, b"{}")
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.url = ""


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()

    class Scripted(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script.asked.append((self.path, dict(self.headers), json.loads(body)))
            status, headers, text = script.answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield script
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def client(script: Script) -> Iterator[Client]:
    client = Client(script.url, "the-key", timeout_seconds=5)
    yield client
    client.close()


def test_claim_names_its_types_and_its_key(client: Client, script: Script) -> None:
    script.answer = (200, {}, json.dumps(JOB).encode())

    job, _ = client.claim(["email"])

    path, headers, body = script.asked[0]
    assert job == JOB
    assert (path, headers["X-API-Key"], body) == ("/jobs/claim", "the-key", {"types": ["email"]})


def test_an_empty_claim_says_when_to_ask_again(client: Client, script: Script) -> None:
    script.answer = (204, {"Retry-After": "3"}, b"")

    assert client.claim(["email"]) == (None, 3.0)


def test_reports_name_the_attempt(client: Client, script: Script) -> None:
    client.complete(JOB, {"é": 1})
    client.fail(JOB, "broken", "code")

    assert [(path, body) for path, _, body in script.asked] == [
        ("/jobs/7/complete", {"attempt": 2, "result": {"é": 1}}),
        ("/jobs/7/fail", {"attempt": 2, "error": "broken", "error_code": "code"}),
    ]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("0", 1.0),
        ("4", 4.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0),
        ("9999", RETRY_AFTER_SECONDS_MAX),
    ],
)
def test_an_answer_that_asks_to_come_back_is_unreachable(
    client: Client, script: Script, status: int, told: str, seconds: float
) -> None:
    script.answer = (status, {"Retry-After": told}, b"")

    with pytest.raises(Unreachable) as raised:
        client.complete(JOB, None)
    assert raised.value.retry_after_seconds == seconds


@pytest.mark.parametrize("status", [301, 308, 400, 401, 403, 404, 409, 413, 422])
def test_any_other_answer_is_refused_and_never_taken_for_done(
    client: Client, script: Script, status: int
) -> None:
    script.answer = (status, {"Location": "/elsewhere"}, b'{"code": "lease-lost"}')

    with pytest.raises(Refused) as raised:
        client.complete(JOB, None)
    assert (raised.value.status, raised.value.code) == (status, "lease-lost")
    assert len(script.asked) == 1


@pytest.mark.parametrize("text", [b"<html>", b"[]", b"null", b'{"detail": "no"}'])
def test_a_refusal_that_is_no_problem_has_no_code(
    client: Client, script: Script, text: bytes
) -> None:
    script.answer = (403, {}, text)

    with pytest.raises(Refused, match="403 unknown"):
        client.complete(JOB, None)


def test_a_claim_that_is_answered_by_a_page_is_unreachable(client: Client, script: Script) -> None:
    script.answer = (200, {}, b"<html>a login page</html>")

    with pytest.raises(Unreachable):
        client.claim(["email"])


def test_a_server_that_is_not_there_is_unreachable() -> None:
    client = Client("http://127.0.0.1:1", "the-key", timeout_seconds=1)

    with pytest.raises(Unreachable):
        client.claim(["email"])
    client.close()
