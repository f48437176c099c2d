"""queuelog itself, at two levels: the Queue, which every request goes through, and its store."""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from queuelog_core.clock import SystemClock
from queuelog_core.job import Priority
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.leases import Wanted
from queuelog_core.queue import Queue
from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.peers.peer import DAY, SMALL, Peer
from tests.support import backlogs, stores
from tests.support.factories import document, new_job, pending_job, producer, worker

TYPES = ("email",)


class Queuelog(Peer):
    """The fair level: like the peers it checks, decides and stores, without HTTP."""

    counts_sql = """
        SELECT ifnull(sum(n) FILTER (WHERE name = 'pending'), 0),
               ifnull(sum(n) FILTER (WHERE name = 'completed'), 0)
        FROM counters
    """

    def __init__(self, folder: Path) -> None:
        self.clock = SystemClock()
        self.store = SqliteStore(folder / self.file)
        self.queue = Queue(self.store, JobTypes({name: Policy() for name in TYPES}), self.clock)
        self.producer, self.worker = producer(), worker()

    def enqueue(self) -> None:
        self.queue.enqueue(self.producer, new_job(payload=SMALL))

    def claim(self) -> Any | None:
        jobs = self.queue.leases.claim(self.worker, Wanted(TYPES)).jobs
        return jobs[0] if jobs else None

    def complete(self, claimed: Any) -> None:
        self.queue.leases.complete(self.worker, claimed.id, claimed.attempt, None)

    def job_id(self, claimed: Any) -> int:
        return int(claimed.id)

    def connections(self) -> Sequence[sqlite3.Connection]:
        return [backlogs.thread_connection(self.store)]

    def close(self) -> None:
        self.store.close()

    @classmethod
    def fill(cls, folder: Path, rows: int, state: str) -> None:
        cls(folder).close()
        status = "completed" if state == "completed" else "pending"
        due = int(time.time() + (DAY if state == "delayed" else -3600)) * 1000
        backlogs.fill(folder / cls.file, rows, types=len(TYPES), status=status, run_at=due)
        connection = sqlite3.connect(folder / cls.file)
        priority = Priority.HIGH if state == "delayed" else Priority.MEDIUM
        connection.execute("UPDATE jobs SET priority = ?", (priority,))
        connection.commit()
        connection.close()


class QueuelogStore(Queuelog):
    """The store with the real transitions, as the Queue calls it."""

    def enqueue(self) -> None:
        self.store.insert(pending_job(self.clock(), payload=document(SMALL).text))

    def claim(self) -> Any | None:
        claimed = stores.claim(self.store, self.clock(), TYPES)
        return claimed[0] if claimed else None

    def complete(self, claimed: Any) -> None:
        stores.complete(self.store, claimed, self.clock())
