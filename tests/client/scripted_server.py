"""A real HTTP server on loopback that answers as it is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from tests.client.scripted import NUMBERS


class Asked(NamedTuple):
    """One request as it came over the network, and from which port."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    port: int


class Script:
    """What the server answers next, and what it was asked. None: it hangs up; bytes are all that
    it says before it does."""

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] | bytes | None = (
            200,
            {},
            json.dumps(NUMBERS).encode(),
        )
        self.asked: list[Asked] = []
        self.url = ""


@contextmanager
def scripted_server() -> Iterator[Script]:
    """A server on loopback that follows its script until the block is left."""
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            port = self.client_address[1]
            script.asked.append(Asked(self.command, self.path, dict(self.headers), body, port))
            if script.answer is None or isinstance(script.answer, bytes):
                self.wfile.write(script.answer or b"")
                self.close_connection = True
                return
            status, headers, text = script.answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)
            self.close_connection = headers.get("Connection") == "close"

        do_GET = do_POST = _answer

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield script
    server.shutdown()
    server.server_close()
    thread.join()
