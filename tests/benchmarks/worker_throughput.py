"""A worker on jobs that do nothing, beside raw callers of the same server; and an idle worker.

    python -m tests.benchmarks.worker_throughput [--quick]

Worker, server and callers are three processes.
"""

import json
import statistics
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from queuelog_core.client import Client, new_job
from queuelog_core.identity import Role
from tests.benchmarks.load import Caller
from tests.benchmarks.measuring import PAIRS, Ratio, ratio, scratch
from tests.benchmarks.noop_worker import DRAIN_SECONDS, JOB_TYPE
from tests.support.servers import Server, environment, eventually, make_key, running, serving

THREADS = (1, 4, 16)
CALLERS = 2
"""They keep the server busy; with more its threads only fight for the interpreter."""
JOB_IN_A_DAY = "a job due in a day"
IDLE_CASES = ("an empty queue", JOB_IN_A_DAY)
Work = tuple[str, int]
"""Who works, and its threads or its jobs a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many rounds of how many jobs, and how long a worker is watched idling."""

    rounds: int
    jobs: int
    idle_seconds: float


WHOLE = Size(rounds=PAIRS, jobs=400, idle_seconds=60.0)
QUICK = Size(rounds=1, jobs=100, idle_seconds=11.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a worker cost for each job that it ran: medians."""

    threads: int
    requests: float
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """What a worker that finds nothing to do costs a minute."""

    name: str
    requests: float
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Jobs a second beside raw callers, what the worker spent on them, and what it idles away."""

    ratios: Sequence[Ratio]
    spent: Sequence[Spent]
    idle: Sequence[Idle]


def measure(folder: Path, size: Size = WHOLE) -> Workers:
    ratios, spent = _busy(folder / "busy", size)
    # Two that idle do not disturb each other.
    with ThreadPoolExecutor(len(IDLE_CASES)) as threads:
        idle = list(threads.map(lambda name: _idle(folder / name, name, size), IDLE_CASES))
    return Workers(ratios=ratios, spent=spent, idle=idle)


def _busy(folder: Path, size: Size) -> tuple[list[Ratio], list[Spent]]:
    """All works in turn, forwards and backwards, so that the figures of a round are pairs."""
    spent: dict[int, list[tuple[float, float]]] = {number: [] for number in THREADS}
    rates: dict[Work, list[float]] = defaultdict(list)
    key = make_key(folder, "root", Role.ADMIN)
    with serving(folder) as server:
        works: dict[Work, Callable[[], object]] = {}
        for number in THREADS:
            works["callers", number] = partial(_call, server, key, number)
            works["worker", number] = partial(_work, server, key, number, spent[number])
        queue = Client(server.url, key)
        _jobs_a_second(queue, size.jobs, works["callers", 1])
        for turn in range(size.rounds):
            for name in sorted(works, reverse=turn % 2 == 1):
                rates[name].append(_jobs_a_second(queue, size.jobs, works[name]))
    ratios = [
        ratio(
            f"worker, threads: {number} / raw callers, jobs a claim: {limit}",
            list(zip(rates["worker", number], rates["callers", limit], strict=True)),
            unit="jobs/s",
        )
        for number in THREADS
        for limit in sorted({1, number})
    ]
    return ratios, [_spent(number, size.jobs, seen) for number, seen in spent.items()]


def _jobs_a_second(queue: Client, jobs: int, work: Callable[[], object]) -> float:
    """From the first claim to the last completion, as the server dates them."""
    assert all(found.id for found in queue.enqueue_many(new_job(JOB_TYPE) for _ in range(jobs)))
    work()
    done = list(islice(queue.jobs(limit=200), jobs))
    assert {(job.status, job.attempt) for job in done} == {("completed", 1)}
    begun = min(job.claimed_at for job in done if job.claimed_at)
    ended = max(job.finished_at for job in done if job.finished_at)
    return jobs / (ended - begun).total_seconds()


def _call(server: Server, key: str, limit: int) -> None:
    """Raw callers claim up to `limit` jobs at once, share them and complete them all."""
    asked = json.dumps({"types": [JOB_TYPE], "limit": limit}).encode()
    claimed: deque[Any] = deque()

    def call(_: int) -> None:
        with Caller(server.url, key) as caller:
            while True:
                try:
                    job = claimed.popleft()
                except IndexError:
                    job, *others = _answer(caller, "/jobs/claim", asked)["jobs"] or [None]
                    claimed.extend(others)
                if job is None:
                    return
                _answer(caller, f"/jobs/{job['id']}/complete", b'{"attempt":%d}' % job["attempt"])

    with ThreadPoolExecutor(CALLERS) as threads:
        list(threads.map(call, range(CALLERS)))


def _answer(caller: Caller, path: str, body: bytes) -> Any:
    status, text = caller.post(path, body)
    assert status == 200, text
    return json.loads(text)


def _work(server: Server, key: str, threads: int, spent: list[tuple[float, float]]) -> None:
    """A worker drains the queue; notes its requests, and its seconds of the processor."""
    before = _requests(server)
    with _worker(server, key, "drain", threads) as worker:
        assert worker.process.wait(2 * DRAIN_SECONDS) == 0, worker.log
        seconds = float(worker.out)
    spent.append((_requests(server) - before, seconds))


def _spent(threads: int, jobs: int, seen: Sequence[tuple[float, float]]) -> Spent:
    requests, seconds = map(statistics.median, zip(*seen, strict=True))
    found = Spent(threads=threads, requests=requests / jobs, milliseconds=seconds / jobs * 1000)
    print(f"{found}", flush=True)
    return found


def _idle(folder: Path, name: str, size: Size) -> Idle:
    """Requests from the first on, which is not counted; the processor's time from the start."""
    key = make_key(folder, "root", Role.ADMIN)
    with serving(folder) as server:
        if name == JOB_IN_A_DAY:
            Client(server.url, key).enqueue(JOB_TYPE, delay_seconds=86_400)
        before = _requests(server)
        with _worker(server, key, "run", 1) as worker:
            eventually(lambda: _requests(server) > before, "the worker asks")
            time.sleep(size.idle_seconds)
            requests = _requests(server) - before - 1
            assert worker.stop() == 0, worker.log
            seconds = float(worker.out)
    minutes = size.idle_seconds / 60
    found = Idle(name=name, requests=requests / minutes, milliseconds=seconds / minutes * 1000)
    print(f"{found}", flush=True)
    return found


def _worker(server: Server, key: str, mode: str, threads: int) -> AbstractContextManager[Server]:
    command = [sys.executable, "-m", "tests.benchmarks.noop_worker", mode, str(threads)]
    settings = environment(QUEUELOG_URL=server.url, QUEUELOG_API_KEY=key)
    return running(command, server.folder / "worker", settings)


def _requests(server: Server) -> int:
    """How many the server has answered."""
    return server.log.count('"event":"request"')


if __name__ == "__main__":
    with scratch() as place:
        measure(place, QUICK if "--quick" in sys.argv else WHOLE)
