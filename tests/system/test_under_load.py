"""Far more processes than threads: each gets its share, and what was acknowledged is there once."""

import http.client
import json
import multiprocessing
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from queuelog_core.errors import StoreBusy
from queuelog_core.identity import Role
from queuelog_core.stores import open_store
from tests.support.factories import pending_job
from tests.support.servers import make_key, serving
from tests.support.stores import claim, complete

# Forks of one small process start in milliseconds, and carry nothing of the tests' own.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])
CLIENTS, ON_THE_FILE = 64, 16
WINDOW_SECONDS = 6.0
ANSWER_SECONDS = 60.0
LEAST_SHARE = 0.3


class Work(NamedTuple):
    """What a process did: the key and the job of each whole cycle, and how often it was told that
    the store is busy."""

    keys: list[str]
    job_ids: list[int]
    busy: int


class Caller:
    """One connection that is kept, as clients do; told to come again, it does."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_SECONDS)
        self._key = key
        self.busy = 0
        self.close = self._connection.close

    def send(self, path: str, body: Any, key: str | None = None) -> tuple[int, Any, str | None]:
        """Status, document and Retry-After of one answer."""
        headers = {"X-API-Key": self._key, "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        self._connection.request("POST", path, json.dumps(body), headers)
        reply = self._connection.getresponse()
        return reply.status, json.loads(reply.read()), reply.headers["Retry-After"]

    def send_until_free(self, path: str, body: Any, key: str | None = None) -> Any:
        while True:
            status, document, retry_after = self.send(path, body, key)
            if status in (200, 201):
                return document
            assert (status, document["code"]) == (503, "store-busy"), document
            self.busy += 1
            time.sleep(int(retry_after or ""))


def call_a_server(name: str, barrier: Any, url: str, api_key: str) -> Work:
    caller = Caller(url, api_key)

    def cycle(key: str) -> int:
        caller.send_until_free("/jobs", {"type": "email", "idempotency_key": key})
        asked = {"types": ["email"], "limit": 1}
        jobs: list[Any] = []
        while not jobs:
            # Others may be faster, and what came after this call is not due for it.
            jobs = caller.send_until_free("/jobs/claim", asked, key)["jobs"]
        (job,) = jobs
        caller.send_until_free(f"/jobs/{job['id']}/complete", {"attempt": job["attempt"]})
        return int(job["id"])

    return in_the_window(name, barrier, cycle)._replace(busy=caller.busy)


def work_on_the_file(name: str, barrier: Any, url: str) -> Work:
    busy = 0

    def until_free(call: Callable[[], Any]) -> Any:
        nonlocal busy
        while True:
            try:
                return call()
            except StoreBusy:
                busy += 1

    store = until_free(lambda: open_store(url))

    def cycle(key: str) -> int:
        until_free(lambda: store.insert(pending_job(idempotency_key=key)))
        (job,) = until_free(lambda: claim(store))
        until_free(lambda: complete(store, job))
        return int(job.id)

    return in_the_window(name, barrier, cycle)._replace(busy=busy)


def in_the_window(name: str, barrier: Any, cycle: Callable[[str], int]) -> Work:
    """Whole cycles from the moment that all are there until the window closes."""
    work = Work([], [], 0)
    barrier.wait(ANSWER_SECONDS)
    closes_at = time.monotonic() + WINDOW_SECONDS
    while time.monotonic() < closes_at:
        key = f"{name}-{len(work.keys)}"
        work.job_ids.append(cycle(key))
        work.keys.append(key)
    return work


def run_all(processes: int, work: Callable[..., Work], *arguments: object) -> list[Work]:
    barrier, results = FORKS.Barrier(processes), FORKS.Queue()
    names = [f"process-{number}" for number in range(processes)]
    running = [
        FORKS.Process(target=_child, args=(results, work, name, barrier, *arguments))
        for name in names
    ]
    for process in running:
        process.start()
    answers = [results.get(timeout=2 * ANSWER_SECONDS) for _ in running]
    for process in running:
        process.join()
    failures = [failure for failure, _ in answers if failure]
    assert not failures, failures[0]
    return [answer for _, answer in answers]


def _child(results: Any, work: Callable[..., Work], *arguments: object) -> None:
    try:
        results.put(("", work(*arguments)))
    except Exception:
        results.put((traceback.format_exc(), None))


def rows(path: Path, columns: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {columns} FROM jobs ORDER BY id").fetchall()


def assert_all_was_done_once(path: Path, done: list[Work]) -> None:
    stored = rows(path, "idempotency_key, id, status, attempt")
    assert sorted(key for key, *_ in stored) == sorted(key for work in done for key in work.keys)
    assert sorted(job_id for work in done for job_id in work.job_ids) == [row[1] for row in stored]
    assert {(status, attempt) for *_, status, attempt in stored} == {("completed", 1)}


def assert_all_had_their_share(done: list[Work]) -> None:
    cycles = sorted(len(work.keys) for work in done)
    told = sum(work.busy for work in done)
    least, greatest = cycles[0], cycles[-1]
    sys.stdout.write(
        f"{len(done)} processes: {sum(cycles)} cycles in {WINDOW_SECONDS} s, each {least} to"
        f" {greatest} (share {least / greatest:.2f}), {told} times busy\n"
    )
    assert least >= LEAST_SHARE * greatest


def test_sixty_four_clients_of_one_server_lose_nothing_and_share_it(tmp_path: Path) -> None:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server:
        done = run_all(CLIENTS, call_a_server, server.url, key)

    assert_all_was_done_once(tmp_path / ".queuelog" / "queuelog.db", done)
    assert_all_had_their_share(done)


@pytest.mark.parametrize("volume", ["local", "network"])
def test_sixteen_processes_on_the_file_lose_nothing_and_share_it(
    tmp_path: Path, volume: str
) -> None:
    path = tmp_path / "queuelog.db"
    url = f"sqlite:///{path}?volume={volume}"
    open_store(url).close()

    done = run_all(ON_THE_FILE, work_on_the_file, url)

    assert_all_was_done_once(path, done)
    assert_all_had_their_share(done)


@contextmanager
def held_by_another_process(path: Path) -> Iterator[None]:
    """While the block runs, somebody else is in the middle of writing to the file."""
    holds, lets_go = FORKS.Event(), FORKS.Event()
    process = FORKS.Process(target=_hold, args=(path, holds, lets_go))
    process.start()
    assert holds.wait(ANSWER_SECONDS)
    yield
    lets_go.set()
    process.join()


def _hold(path: Path, holds: Any, lets_go: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        holds.set()
        lets_go.wait(ANSWER_SECONDS)


@pytest.mark.parametrize("volume", ["local", "network"])
def test_what_waits_too_long_for_another_process_is_told_so_and_done_once_when_it_comes_again(
    tmp_path: Path, volume: str
) -> None:
    api_key = make_key(tmp_path, "root", Role.ADMIN)
    path = tmp_path / ".queuelog" / "queuelog.db"
    with serving(tmp_path, QUEUELOG_STORE=f"sqlite:///{path}?volume={volume}") as server:
        held, due = (server.enqueue(api_key, type=name)["id"] for name in ("email", "pdf"))
        server.call("POST", "/jobs/claim", api_key, {"types": ["email"]})
        sent: list[tuple[str, Any, str | None]] = [
            ("/jobs", {"type": "sync", "idempotency_key": "field"}, None),
            ("/jobs", {"type": "sync"}, "header"),
            ("/jobs/batch", {"jobs": [{"type": "sync", "idempotency_key": "item"}]}, None),
            ("/jobs/claim", {"types": ["pdf"]}, "claim"),
            (f"/jobs/{held}/complete", {"attempt": 1}, None),
        ]

        def send(one: tuple[str, Any, str | None]) -> tuple[int, Any, str | None]:
            with closing(Caller(server.url, api_key)) as caller:
                return caller.send(*one)

        def send_all() -> list[tuple[int, Any, str | None]]:
            with ThreadPoolExecutor(len(sent)) as callers:
                return list(callers.map(send, sent))

        with held_by_another_process(path):
            refused = send_all()
        first, again = send_all(), send_all()

    told = {(status, problem["code"], after) for status, problem, after in refused}
    assert told == {(503, "store-busy", "1")}
    assert [status for status, *_ in first] == [201, 201, 200, 200, 200]
    assert [status for status, *_ in again] == [200] * len(sent)
    assert sorted(rows(path, "coalesce(idempotency_key, ''), status, attempt")) == [
        ("", "completed", 1),
        ("", "running", 1),
        *((key, "pending", 0) for key in ("field", "header", "item")),
    ]
    assert first[3][1]["id"] == again[3][1]["id"] == due
