"""Lambda's Runtime API on loopback: one execution environment of the real runtime client each."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.http import ROOT

STOP_SECONDS = 5.0
_TICK_SECONDS = 0.1


class RuntimeFailed(Exception):
    """The function raised, could not be imported, died or took too long."""


class Environment:
    """One process of a function, which runs one invocation at a time."""

    def __init__(self, function: str, timeout_seconds: float, log: Path) -> None:
        self.function = function
        self.timeout_seconds = timeout_seconds
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.todo: queue.Queue[tuple[str, bytes, int]] = queue.Queue()
        self.done: queue.Queue[tuple[str, str, bytes]] = queue.Queue()
        self._turn = threading.Lock()

    def invoke(self, event: Any) -> Any:
        """What the function returned. Raises RuntimeFailed with what the runtime was told."""
        with self._turn:
            asked = str(uuid.uuid4())
            ends_at = time.time() + self.timeout_seconds
            self.todo.put((asked, json.dumps(event).encode(), int(ends_at * 1000)))
            while True:
                try:
                    request_id, kind, body = self.done.get(timeout=_TICK_SECONDS)
                except queue.Empty:
                    self._check_alive(ends_at)
                    continue
                if (request_id, kind) != (asked, "response"):
                    raise RuntimeFailed(f"{self.function}: {kind}: {body.decode()}")
                return json.loads(body)

    def _check_alive(self, ends_at: float) -> None:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeFailed(f"{self.function} ended: {self.log.read_text('utf-8')}")
        if time.time() > ends_at:
            raise RuntimeFailed(f"{self.function} took longer than {self.timeout_seconds} s")


@contextmanager
def runtime(
    handler: str,
    log: Path,
    settings: Mapping[str, str],
    function: str = "",
    timeout_seconds: float = 30.0,
) -> Iterator[Environment]:
    """A process of awslambdaric that runs `functions/x.handler`; when the block is left, it has
    ended. Its environment is what Lambda gives, with `settings`."""
    environment = Environment(function or handler, timeout_seconds, log)
    server = _Server(("127.0.0.1", 0), _Api)
    server.environment = environment
    thread = threading.Thread(target=server.serve_forever, args=(_TICK_SECONDS,), daemon=True)
    thread.start()
    with log.open("wb") as output:
        environment.process = subprocess.Popen(
            [sys.executable, "-m", "awslambdaric", handler],
            cwd=ROOT,
            env=_variables(handler, environment.function, server.server_port) | dict(settings),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield environment
    finally:
        environment.process.kill()
        environment.process.wait(STOP_SECONDS)
        server.shutdown()
        server.server_close()
        thread.join(STOP_SECONDS)


def _variables(handler: str, function: str, port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port}",
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_REGION": "eu-west-1",
        "LAMBDA_TASK_ROOT": str(ROOT),
        "_HANDLER": handler,
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    environment: Environment


class _Api(BaseHTTPRequestHandler):
    """The routes of version 2018-06-01 that a runtime client calls."""

    protocol_version = "HTTP/1.1"
    # TCP_NODELAY: without it each invocation waits for a delayed acknowledgement.
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        assert self.path.endswith("/runtime/invocation/next"), self.path
        request_id, event, deadline = self.server.environment.todo.get()
        self.send_response(200)
        self.send_header("Lambda-Runtime-Aws-Request-Id", request_id)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(deadline))
        arn = f"arn:aws:lambda:eu-west-1:123456789012:function:{self.server.environment.function}"
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", arn)
        self._finish(event)

    def do_POST(self) -> None:
        body = self._body()
        *_, request_id, kind = self.path.split("/")
        self.server.environment.done.put((request_id, kind, body))
        self.send_response(202)
        self._finish(b'{"status":"OK"}')

    def _body(self) -> bytes:
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _finish(self, body: bytes) -> None:
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        """A runtime that was killed hangs up in the middle."""
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nobody reads these."""
