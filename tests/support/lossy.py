"""A queue behind a connection that loses answers: the work is done, and the client hears nothing.

All of it goes over real sockets on loopback: waitress before the application, a proxy before that.
"""

import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse, RemoteDisconnected
from typing import Any, NamedTuple

import pytest
from flask import Flask
from waitress.server import create_server
from waitress.wasyncore import close_all, loop

from tests.support.servers import Answer

HOST = "127.0.0.1"
WAIT_SECONDS = 30


class Request(NamedTuple):
    """A POST that can be sent more than once, byte for byte the same."""

    path: str
    key: str
    body: Any = None
    headers: Mapping[str, str] = {}


@contextmanager
def served(app: Flask) -> Iterator[int]:
    """The port on which waitress serves the application until the block is left."""
    server: Any = create_server(app, host=HOST, port=0, threads=1)
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            loop(map=server._map, count=1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield server.effective_port
    finally:
        stopped.set()
        server.pull_trigger()
        thread.join()
        # Only now nobody writes to a descriptor that somebody else may have got since.
        server.task_dispatcher.shutdown()
        close_all(server._map)


def send(port: int, request: Request) -> Answer:
    """The answer; RemoteDisconnected when the connection ends without a byte of one."""
    data = b"" if request.body is None else json.dumps(request.body).encode()
    headers = {"X-API-Key": request.key, "Content-Type": "application/json", **request.headers}
    with closing(HTTPConnection(HOST, port, timeout=WAIT_SECONDS)) as connection:
        connection.request("POST", request.path, data, headers)
        return _read(connection.getresponse())


def send_and_lose_the_answer(port: int, request: Request) -> Answer:
    """What the server said, which the client was never told: its connection just ended."""
    with socket.create_server((HOST, 0)) as listener, ThreadPoolExecutor(1) as thread:
        listener.settimeout(WAIT_SECONDS)
        lost = thread.submit(_lose_one, listener, port)
        with pytest.raises(RemoteDisconnected):
            send(listener.getsockname()[1], request)
        return lost.result()


def _lose_one(listener: socket.socket, port: int) -> Answer:
    """Forward one request, wait for the whole answer, hang up on the client."""
    client, _ = listener.accept()
    with client, socket.create_connection((HOST, port), WAIT_SECONDS) as server:
        server.sendall(_read_request(client))
        with HTTPResponse(server) as reply:
            reply.begin()
            return _read(reply)


def _read_request(client: socket.socket) -> bytes:
    """All bytes of it: a connection that is closed with some unread would be reset."""
    head = b""
    with client.makefile("rb") as stream:
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            assert line, "the client hung up first"
            head += line
        length = re.search(rb"\r\nContent-Length: (\d+)\r\n", head, re.IGNORECASE)
        assert length, "a POST says how long it is"
        return head + stream.read(int(length[1]))


def _read(reply: HTTPResponse) -> Answer:
    text = reply.read().decode()
    return Answer(reply.status, dict(reply.headers), text)
