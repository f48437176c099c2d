"""Callers that cost next to nothing: ready bytes over a socket that stays open."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

CALLERS = 8
SECONDS = 2.0
_LENGTH = b"content-length: "


class Caller:
    """One connection of one key. Not for two threads."""

    def __init__(self, url: str, key: str) -> None:
        address = urlsplit(url)
        self._head = (
            f" HTTP/1.1\r\nHost: {address.netloc}\r\nX-API-Key: {key}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        self._socket = socket.create_connection((address.hostname, address.port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer, which is read to its end."""
        self._socket.sendall(
            b"POST %b%b%d\r\n\r\n%b" % (path.encode(), self._head, len(body), body)
        )
        text = b""
        while b"\r\n\r\n" not in text:
            text += self._more()
        head, _, found = text.partition(b"\r\n\r\n")
        start = head.lower().index(_LENGTH) + len(_LENGTH)
        length = int(head[start:].split(b"\r\n", 1)[0])
        while len(found) < length:
            found += self._more()
        return int(head.split(b" ", 2)[1]), found

    def _more(self) -> bytes:
        found = self._socket.recv(65_536)
        if not found:
            raise ConnectionError("the server hung up")
        return found


def requests_a_second(url: str, key: str, body: bytes) -> float:
    """Answered POST /jobs a second over all callers; every answer must be 201."""
    give_up_at = time.perf_counter() + SECONDS
    with ThreadPoolExecutor(CALLERS) as threads:
        counts = list(
            threads.map(lambda _: _post_until(url, key, body, give_up_at), range(CALLERS))
        )
    return sum(counts) / SECONDS


def _post_until(url: str, key: str, body: bytes, give_up_at: float) -> int:
    done = 0
    with Caller(url, key) as caller:
        while time.perf_counter() < give_up_at:
            status, _ = caller.post("/jobs", body)
            assert status == 201, status
            done += 1
    return done
