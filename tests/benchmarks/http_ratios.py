"""POST /jobs with every check against a Flask application that echoes JSON."""

import io
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flask import Flask, request
from werkzeug.test import create_environ

from queuelog_core.clock import SystemClock
from queuelog_core.http.app import create_app
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from queuelog_core.queue import Queue
from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.load import requests_a_second
from tests.benchmarks.measuring import PAIRS, Ratio, bare, compare, record, replay
from tests.support.factories import pending_job
from tests.support.http import shipped_types
from tests.support.servers import environment, make_key, running, serving

CALLS = 500
BODY = json.dumps({"type": "email", "payload": {"to": "a@example.org", "n": 7}}).encode()
REQUEST = create_environ("/jobs", method="POST", data=BODY, content_type="application/json")
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def echo(commit: Callable[[], None]) -> Flask:
    """What a developer would write first: the body back as JSON, behind one commit."""
    app = Flask("echo")

    @app.post("/jobs")
    def answer() -> Any:
        commit()
        return request.get_json(), 201

    return app


def post(app: Wsgi, key: str) -> None:
    """One POST /jobs, through WSGI alone."""
    environ = REQUEST | {"HTTP_X_API_KEY": key, "wsgi.input": io.BytesIO(BODY)}
    said: list[str] = []
    body = app(environ, lambda *status: said.append(status[0]))
    assert b"".join(body)
    assert said[0].startswith("201"), said


def microseconds(app: Wsgi, key: str = "") -> float:
    """The mean cost of a call, waits for the disk included."""
    started = time.perf_counter()
    for _ in range(CALLS):
        post(app, key)
    return (time.perf_counter() - started) / CALLS * 1e6


def in_process(folder: Path) -> Ratio:
    calls = CALLS * (PAIRS + 1)
    script = record(
        folder / "recorded.db", lambda store: [store.insert(pending_job()) for _ in range(calls)]
    )
    size = len(script) // calls
    commits = iter([script[start : start + size] for start in range(0, len(script), size)])
    SqliteStore(folder / "bare.db").close()
    connection = bare(folder / "bare.db")
    registry = FileRegistry(folder / "keys.json", SystemClock())
    _, key = registry.create("shop", Role.PRODUCER, priority_max=Priority.HIGH)
    queue = Queue(SqliteStore(folder / "queuelog.db"), shipped_types(), SystemClock())
    ours = create_app(queue, identify_by_key(registry)).wsgi_app
    theirs = echo(lambda: replay(connection, next(commits))).wsgi_app
    found = compare(
        "POST /jobs / Flask's JSON echo + the same commit, in process",
        lambda: microseconds(ours, key),
        lambda: microseconds(theirs),
        at_most=2.0,
        unit="us",
    )
    connection.close()
    queue.store.close()
    return found


def served(folder: Path) -> Ratio:
    """Both behind waitress with its threads, eight callers on connections that stay open."""
    key = make_key(folder / "serve", "shop", Role.PRODUCER)
    command = [sys.executable, "-m", "tests.benchmarks.echo_server"]
    with (
        serving(folder / "serve") as server,
        running(command, folder / "echo", environment()) as echoing,
    ):
        echoing.wait_until_ready()
        return compare(
            "POST /jobs / a JSON echo without a store, by waitress",
            lambda: requests_a_second(server.url, key, BODY),
            lambda: requests_a_second(echoing.url, key, BODY),
            at_least=0.40,
            unit="requests/s",
        )
