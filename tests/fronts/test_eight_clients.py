"""Eight clients at once through the several processes of serverless-offline, over one file."""

import logging
import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import NamedTuple

from queuelog_core.client import Client
from tests.fronts.conftest import CLIENTS_TYPE, Offline

CLIENTS = 8
SECONDS = float(os.environ.get("QUEUELOG_CLIENT_SECONDS", "10"))
WARM_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Done(NamedTuple):
    """What one client was told: ids that it enqueued, attempts that it completed."""

    made: list[int]
    completed: list[tuple[int, int]]


class Hours:
    """When the clients begin, after a first round that starts all processes, and when they end."""

    def __init__(self) -> None:
        self.until = float("inf")
        self.all_warm = threading.Barrier(CLIENTS, self._begin)

    def _begin(self) -> None:
        self.until = time.monotonic() + SECONDS


def run_client(number: int, offline: Offline, hours: Hours) -> Done:
    """Enqueue, claim and complete until the time is up; then empty the queue with the others."""
    done = Done([], [])
    url, keys = offline.server.url, offline.keys
    with Client(url, keys["producer"]) as producer, Client(url, keys["worker"]) as worker:
        while True:
            if time.monotonic() < hours.until:
                payload = {"client": number, "number": len(done.made)}
                done.made.append(producer.enqueue(CLIENTS_TYPE, payload).id)
            claimed = worker.claim([CLIENTS_TYPE])
            for job in claimed.jobs:
                ended = worker.complete(job, {"by": number})
                assert (ended.id, ended.status) == (job.id, "completed")
                done.completed.append((job.id, job.attempt))
            if len(done.made) == 1:
                hours.all_warm.wait(WARM_SECONDS)
            if claimed.next_due_in_seconds is None and time.monotonic() >= hours.until:
                return done


def opened_stores(offline: Offline) -> int:
    """How many processes have opened the file so far."""
    return (offline.server.out + offline.server.log).count('"event":"store-opened"')


def test_eight_clients_lose_no_job_and_get_none_twice(emulated_offline: Offline) -> None:
    began = datetime.now(UTC)
    processes_before = opened_stores(emulated_offline)
    hours = Hours()
    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [threads.submit(run_client, n, emulated_offline, hours) for n in range(CLIENTS)]
        all_done = [client.result() for client in running]

    assert opened_stores(emulated_offline) - processes_before >= CLIENTS
    made = [job_id for done in all_done for job_id in done.made]
    completed = Counter(claim for done in all_done for claim in done.completed)
    by_client = {claim[0]: n for n, done in enumerate(all_done) for claim in done.completed}
    _log.info("%d jobs by %d clients in %.0f s", len(made), CLIENTS, SECONDS)
    assert completed == {(job_id, 1): 1 for job_id in made}
    assert all(done.made and done.completed for done in all_done)
    with Client(emulated_offline.server.url, emulated_offline.keys["admin"]) as admin:
        jobs = list(admin.jobs(type=CLIENTS_TYPE, created_after=began, limit=200))
        histories = [admin.attempts(job.id) for job in jobs]
    assert sorted(job.id for job in jobs) == sorted(made)
    assert {(job.status, job.attempt, job.retry_count) for job in jobs} == {("completed", 1, 0)}
    assert {job.id: job.result["by"] for job in jobs} == by_client
    for history in histories:
        assert [(a.attempt, a.outcome) for a in history.attempts] == [(1, "completed")]
        assert history.dropped == 0
