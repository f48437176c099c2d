"""Why nobody answered, in words for those who must mend it, with the address and never the key."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from queuelog_core.client import HttpTransport, NoAnswer, Request
from tests.client.scripted_server import Script, scripted_server


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_server() as script:
        yield script


def words(url: str, timeout_seconds: float = 5) -> str:
    """What the transport says about an address that gives no answer."""
    transport = HttpTransport(url, timeout_seconds)
    try:
        with pytest.raises(NoAnswer) as raised:
            transport(Request("GET", "/stats", {"X-API-Key": "the-key"}))
    finally:
        transport.close()
    told = str(raised.value)
    assert "Error" not in told
    assert "the-key" not in told
    return told


@pytest.fixture
def deaf() -> Iterator[str]:
    """The address of one that takes no further connections, as behind a firewall."""
    with closing(socket.socket()) as listening, closing(socket.socket()) as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting.connect(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_port_that_nobody_listens_on_refuses() -> None:
    assert words("http://127.0.0.1:1/queue") == "connection refused (http://127.0.0.1:1)"
    assert words("http://[::1]:1") in (
        "connection refused (http://[::1]:1)",
        "cannot assign requested address (http://[::1]:1)",
    )


def test_a_name_that_nobody_knows_cannot_be_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    assert words("https://queue.test") == "the name cannot be looked up (https://queue.test)"


def test_one_that_takes_no_connection_is_given_up_after_the_timeout(deaf: str) -> None:
    assert words(deaf, 0.1) == f"no connection within 0.1 s ({deaf})"


def test_a_server_without_tls_is_told_apart(script: Script) -> None:
    script.answer = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    address = script.url.replace("http:", "https:")

    assert words(address) == f"TLS failed ({address})"


@pytest.mark.parametrize(
    "said",
    [
        None,
        b"not HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_an_answer_that_breaks_off_or_is_no_http_is_said_to(
    script: Script, said: bytes | None
) -> None:
    script.answer = said

    assert words(script.url) == f"the answer broke off or is no HTTP ({script.url})"
