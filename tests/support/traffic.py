"""Producers and workers that do not stop calling one server, and what it told them."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import count

from queuelog_core.client import Client, Conflict
from tests.support.kills import Watched

PRODUCERS, WORKERS = 2, 3
_PAUSE_SECONDS = 0.03
_Run = tuple[int, int]
"""A job and the attempt of it."""


class Traffic:
    """What was acknowledged. `enqueued` has the ids by the keys of the requests."""

    def __init__(self, client: Client, job_type: str) -> None:
        self._client = client
        self._type = job_type
        self.closed = threading.Event()
        """Nothing more is begun to be enqueued."""
        self.complete = threading.Event()
        """Everything is enqueued."""
        self.enqueued: dict[str, int] = {}
        self.claimed: list[_Run] = []
        self.completed: list[_Run] = []
        self.refused: list[_Run] = []

    def produce(self, name: str) -> None:
        """Enqueue until it is closed, each request under a key of its own."""
        for number in count():
            if self.closed.wait(_PAUSE_SECONDS):
                return
            key = f"{name}-{number}"
            self.enqueued[key] = self._client.enqueue(self._type, idempotency_key=key).id

    def work(self) -> None:
        """Claim and complete until everything is enqueued and nothing of it is left."""
        while True:
            is_all = self.complete.is_set()
            claimed = self._client.claim([self._type])
            for job in claimed.jobs:
                run = job.id, job.attempt
                self.claimed.append(run)
                try:
                    self._client.complete(job)
                    self.completed.append(run)
                except Conflict:
                    self.refused.append(run)
            if is_all and claimed.next_due_in_seconds is None:
                return
            if not claimed.jobs:
                time.sleep(_PAUSE_SECONDS)


@contextmanager
def traffic(watched: Watched, key: str, job_type: str) -> Iterator[Traffic]:
    """Calls over this network; when the block is left, every job has come to its end."""
    with Client("http://127.0.0.1", key, transport=watched) as client:
        running = Traffic(client, job_type)
        with ThreadPoolExecutor(PRODUCERS + WORKERS) as threads:
            shops = [threads.submit(running.produce, f"shop {n}") for n in range(PRODUCERS)]
            workers = [threads.submit(running.work) for _ in range(WORKERS)]
            try:
                yield running
            finally:
                running.closed.set()
                wait(shops)
                running.complete.set()
        for call in (*shops, *workers):
            call.result()
