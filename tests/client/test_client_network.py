"""The client over real connections, to a server that answers as it is told, oddly or not at all."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from queuelog_core.client import (
    Client,
    HttpTransport,
    NoAnswer,
    Refused,
    Request,
    ServerError,
    Unreachable,
)
from queuelog_core.errors import ConfigError
from tests.client.scripted import JOB, NUMBERS, Pauses, Scripted, answer
from tests.client.scripted_server import Script, scripted_server

THREADS = 8


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_server() as script:
        yield script


@pytest.fixture
def client(script: Script) -> Iterator[Client]:
    with Client(script.url, "the-key", timeout_seconds=5, patience=Pauses().patience(1)) as client:
        yield client


def test_a_call_carries_the_key_and_its_body_as_json(client: Client, script: Script) -> None:
    script.answer = (201, {}, json.dumps(JOB).encode())

    assert client.enqueue("email", {"é": 1}, idempotency_key="k").id == JOB["id"]

    (asked,) = script.asked
    assert (asked.method, asked.path) == ("POST", "/jobs")
    assert asked.headers["X-API-Key"] == "the-key"
    assert asked.headers["Content-Type"] == "application/json"
    sent = '{"type":"email","payload":{"é":1},"idempotency_key":"k"}'
    assert asked.body.decode() == sent


def test_a_read_has_no_body_and_its_filter_in_the_query(client: Client, script: Script) -> None:
    script.answer = (200, {}, b'{"jobs": [], "next_cursor": null}')

    assert list(client.jobs(type="email", worker_id="a&b", status=None)) == []

    (asked,) = script.asked
    assert (asked.method, asked.path, asked.body) == (
        "GET",
        "/jobs?type=email&worker_id=a%26b",
        b"",
    )


def test_a_server_below_a_path_is_called_there(script: Script) -> None:
    with Client(f"{script.url}/queue/", "the-key") as client:
        client.stats()

    assert script.asked[0].path == "/queue/stats"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_never_followed(
    client: Client, script: Script, status: int
) -> None:
    script.answer = (status, {"Location": f"{script.url}/elsewhere"}, b"")

    with pytest.raises(Refused) as raised:
        client.stats()
    assert raised.value.status == status
    assert [asked.path for asked in script.asked] == ["/stats"]


@pytest.mark.parametrize("text", [b"<html>a login page</html>", b"[]", b"null", b"", b"\xff"])
def test_an_answer_that_is_no_json_object_is_a_server_error(
    client: Client, script: Script, text: bytes
) -> None:
    script.answer = (200, {}, text)

    with pytest.raises(ServerError, match="not a JSON object"):
        client.claim(["email"])
    assert len(script.asked) == 1


@pytest.mark.parametrize("text", [b"<html>", b"[]", b"null", b'{"detail": "no"}', b"\xff"])
def test_a_refusal_that_is_no_problem_is_told_by_its_status(
    client: Client, script: Script, text: bytes
) -> None:
    script.answer = (403, {}, text)

    with pytest.raises(Refused, match="403 forbidden"):
        client.stats()


@pytest.mark.parametrize("name", ["Retry-After", "RETRY-AFTER"])
def test_headers_are_read_in_any_case(client: Client, script: Script, name: str) -> None:
    script.answer = (503, {name: "3"}, b"{}")

    with pytest.raises(ServerError) as raised:
        client.stats()
    assert raised.value.retry_after_seconds == 3


def test_a_server_that_is_not_there_is_unreachable() -> None:
    pauses = Pauses()
    client = Client("http://127.0.0.1:1", "the-key", patience=pauses.patience(1))

    with client, pytest.raises(Unreachable) as raised:
        client.stats()
    assert str(raised.value) == "GET /stats: connection refused (http://127.0.0.1:1)"
    assert pauses.taken == [0.25, 0.5]


def test_a_server_that_hangs_up_is_asked_again(client: Client, script: Script) -> None:
    script.answer = None

    with pytest.raises(Unreachable):
        client.stats()
    assert [asked.path for asked in script.asked] == ["/stats"] * 3


def test_an_answer_that_ends_too_early_is_no_answer(client: Client, script: Script) -> None:
    script.answer = (200, {"Content-Length": "100", "Connection": "close"}, b'{"jobs": [')

    with pytest.raises(Unreachable):
        client.stats()
    assert len(script.asked) == 3


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1",
        b"not HTTP\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        HEAD + b"X-Long: " + b"x" * 70_000 + b"\r\n\r\n",
        HEAD + b"X: y\r\n" * 200 + b"\r\n",
        HEAD + b"Content-Length: 100\r\n\r\n{}",
        HEAD + b"Content-Length: 1, 2\r\n\r\n{}",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
    ids=range(11),
)
def test_an_answer_that_is_cut_short_or_no_http_is_asked_for_again(
    script: Script, said: bytes
) -> None:
    pauses = Pauses()
    script.answer = said

    def mend() -> None:
        script.answer = (200, {}, json.dumps(NUMBERS).encode())

    pauses.after_each = mend
    with Client(script.url, "the-key", patience=pauses.patience()) as client:
        assert client.stats() == NUMBERS
    assert pauses.taken == [0.25]


def test_a_server_that_says_nothing_is_given_up_after_the_timeout() -> None:
    waiting = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    transport = HttpTransport(f"http://127.0.0.1:{waiting.server_address[1]}", 0.05)

    with pytest.raises(NoAnswer, match=r"^no answer within 0\.05 s \(http://127\.0\.0\.1:\d+\)$"):
        transport(Request("GET", "/stats", {}))
    transport.close()
    waiting.server_close()


def test_calls_one_after_the_other_share_a_connection(client: Client, script: Script) -> None:
    client.stats()
    client.whoami()
    client.with_budget(0).stats()

    assert len({asked.port for asked in script.asked}) == 1


def test_a_client_that_was_closed_connects_anew(client: Client, script: Script) -> None:
    client.stats()
    client.close()
    client.stats()

    assert len({asked.port for asked in script.asked}) == 2


def test_threads_share_one_client(client: Client, script: Script) -> None:
    start = threading.Barrier(THREADS)
    told: list[Any] = []

    def call() -> None:
        start.wait(10)
        told.extend(client.stats() for _ in range(10))

    threads = [threading.Thread(target=call) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert told == [NUMBERS] * (10 * THREADS)
    assert len({asked.port for asked in script.asked}) <= THREADS


def test_address_and_key_come_from_the_environment(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUELOG_URL", f"{script.url}/")
    monkeypatch.setenv("QUEUELOG_API_KEY", "from-outside")

    with Client() as client:
        client.stats()

    assert script.asked[0].headers["X-API-Key"] == "from-outside"


@pytest.mark.parametrize(("url", "key", "name"), [("nowhere", "k", "URL"), ("", "", "API_KEY")])
def test_a_client_with_a_wrong_setting_is_not_made(
    monkeypatch: pytest.MonkeyPatch, url: str, key: str, name: str
) -> None:
    monkeypatch.setenv("QUEUELOG_URL", url)
    monkeypatch.setenv("QUEUELOG_API_KEY", key)

    with pytest.raises(ConfigError, match=f"QUEUELOG_{name}"):
        Client()


def test_a_transport_that_has_nothing_to_close_is_left_alone() -> None:
    with Client(key="the-key", transport=Scripted(answer(200, NUMBERS))) as client:
        assert client.stats() == NUMBERS
