"""How `queuelog serve` ends: what runs may finish, what was asked is answered, nothing is lost."""

import http.client
import json
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

import pytest

from queuelog_core.identity import Role
from queuelog_core.job import Job
from queuelog_core.stores import open_store
from tests.support.servers import (
    COMMAND,
    Server,
    environment,
    eventually,
    make_key,
    running,
    serving,
)

STOPS = [signal.SIGINT, signal.SIGTERM]
HANDLERS = """
import time

def handlers(folder):
    def run(job):
        (folder / "started").touch()
        time.sleep(job.payload["seconds"])
        return {"slept": True}

    return {"email": run}
"""
DEMO = ("--demo", "--handlers", "sleepy_handlers")


@contextmanager
def sleepy_demo(folder: Path) -> Iterator[Server]:
    """A demo whose jobs sleep as long as their payload says."""
    (folder / "sleepy_handlers.py").write_text(HANDLERS, "utf-8")
    with serving(folder, *DEMO) as server:
        yield server


def enqueue_sleep(server: Server, seconds: float) -> int:
    payload = {"seconds": seconds}
    job = server.enqueue(server.demo_keys()["PRODUCER_KEY"], type="email", payload=payload)
    return int(job["id"])


def wait_for_the_worker(server: Server) -> None:
    started = server.folder / ".queuelog" / "started"
    eventually(started.exists, "the worker has begun a job")


def stored(folder: Path, job_id: int) -> Job:
    with closing(open_store(f"sqlite:///{folder}/.queuelog/queuelog.db")) as store:
        job = store.get(job_id)
    assert job is not None
    return job


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_lets_the_running_job_finish_and_be_reported_and_starts_no_other(
    tmp_path: Path, number: signal.Signals
) -> None:
    with sleepy_demo(tmp_path) as server:
        first, second = enqueue_sleep(server, 1), enqueue_sleep(server, 1)
        wait_for_the_worker(server)

        exit_code = server.stop(number)

        assert exit_code == 0
        assert "Stopping: what runs" in server.out
        assert "Traceback" not in server.log
    done = stored(tmp_path, first)
    assert (done.status, done.result) == ("completed", '{"slept":true}')
    assert stored(tmp_path, second).attempt == 0


@pytest.mark.parametrize("number", STOPS)
def test_a_second_signal_ends_it_at_once_and_the_job_stays_with_its_lease(
    tmp_path: Path, number: signal.Signals
) -> None:
    with sleepy_demo(tmp_path) as server:
        job_id = enqueue_sleep(server, 60)
        wait_for_the_worker(server)
        server.send_signal(number)
        eventually(lambda: "Stopping" in server.out, "it says that it stops")

        exit_code = server.stop(number)

        assert exit_code == -number
    assert stored(tmp_path, job_id).status == "running"


def test_a_reader_that_is_gone_does_not_keep_the_running_job_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "sleepy_handlers.py").write_text(HANDLERS, "utf-8")
    command = [str(COMMAND), "serve", "--port", "0", *DEMO]
    # As in `queuelog serve | tee log`, where one Ctrl-C ends the reader as well.
    with running(command, tmp_path, environment(), stdout=subprocess.PIPE) as server:
        reader = cast(IO[bytes], server.process.stdout)
        eventually(lambda: b"Ctrl-C stops" in reader.readline(), "the banner is printed")
        server.url = server.demo_keys()["QUEUELOG_URL"]
        eventually(lambda: not is_closed(server), "it listens")
        job_id = enqueue_sleep(server, 1)
        wait_for_the_worker(server)
        reader.close()

        exit_code = server.stop(signal.SIGINT)

        assert (exit_code, server.log.count("Traceback")) == (0, 0)
    assert stored(tmp_path, job_id).status == "completed"


def test_a_server_without_anything_to_do_stops_within_a_moment(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as server:
        exit_code = server.stop()

        assert exit_code == 0
    assert not (tmp_path / ".queuelog" / "queuelog.db-wal").exists()


@pytest.mark.parametrize("number", STOPS)
def test_requests_in_flight_are_answered_before_the_server_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    key = make_key(tmp_path, "shop", Role.PRODUCER)
    with serving(tmp_path) as server, ExitStack() as stack:
        lock = hold_the_store(stack, tmp_path)
        callers = [sent_enqueue(stack, server, key) for _ in range(4)]
        # One loop takes all requests in their order, so those four are in when this is answered.
        assert server.call("GET", "/openapi.json").status == 200

        server.send_signal(number)
        eventually(lambda: is_closed(server), "new connections are refused")
        lock.execute("ROLLBACK")

        answers = [answer(caller) for caller in callers]
        assert server.process.wait(20) == 0
    assert [status for status, _ in answers] == [201] * 4
    for _, job_id in answers:
        assert stored(tmp_path, job_id).producer_id == "shop"


def hold_the_store(stack: ExitStack, folder: Path) -> sqlite3.Connection:
    """The right to write, so that writing requests have to wait."""
    path = folder / ".queuelog" / "queuelog.db"
    connection = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
    connection.execute("BEGIN IMMEDIATE")
    return connection


def sent_enqueue(stack: ExitStack, server: Server, key: str) -> http.client.HTTPConnection:
    """A request that has been sent as a whole and whose answer nobody has read yet."""
    port = urlsplit(server.url).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    stack.enter_context(closing(connection))
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    connection.request("POST", "/jobs", json.dumps({"type": "email"}), headers)
    return connection


def answer(connection: http.client.HTTPConnection) -> tuple[int, int]:
    with connection.getresponse() as reply:
        return reply.status, json.loads(reply.read())["id"]


def is_closed(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), 5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_connection_that_only_waits_does_not_keep_the_server_from_ending(tmp_path: Path) -> None:
    key = make_key(tmp_path, "shop", Role.PRODUCER)
    with serving(tmp_path) as server, ExitStack() as stack:
        idle = sent_enqueue(stack, server, key)
        assert answer(idle)[0] == 201

        exit_code = server.stop()

        assert exit_code == 0
