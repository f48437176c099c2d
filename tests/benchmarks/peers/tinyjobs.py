"""tinyjobs: as documented, by coroutines, and by the blocking calls below them."""

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tinyjobs import TinyJobs
from tinyjobs.backends.sqlite import connection

from tests.benchmarks.peers.peer import SMALL, Peer

# It sets NORMAL on each connection that it opens and has no option for it.
connection.FILE_PRAGMAS = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
QUEUES = ("default",)
LEASE_SECONDS = 60.0


def send_mail(to: str, subject: str) -> None:
    """The function that the jobs name; nothing here runs it."""


class Tinyjobs(Peer):
    """Each call is one coroutine on a loop that stays, without a thread before the loop."""

    payload = b'{"args": [], "kwargs": {"to": "ada@example.com", "subject": "Hello"}}'
    fill_sql = (
        """
        INSERT INTO jobs (id, task, payload, codec, queue, status, priority, attempts, run_at,
                          created_at, finished_at, worker_id)
        SELECT printf('019a0000-0000-7000-8000-%012x', i), 'send_mail', :payload, 'json', 'default',
               CASE :state WHEN 'completed' THEN 'success' ELSE 'queued' END, :priority,
               :state = 'completed', :due + i * 1e-3, :past + i * 1e-3,
               CASE :state WHEN 'completed' THEN :past + i * 1e-3 END,
               CASE :state WHEN 'completed' THEN 'worker' END
        FROM n
        """,
        """
        INSERT INTO executions (job_id, attempt, status, worker_id, started_at, finished_at)
        SELECT printf('019a0000-0000-7000-8000-%012x', i), 1, 'success', 'worker',
               :past + i * 1e-3, :past + i * 1e-3
        FROM n WHERE :state = 'completed'
        """,
    )
    counts_sql = """
        SELECT count(*) FILTER (WHERE status = 'queued'), count(*) FILTER (WHERE status = 'success')
        FROM jobs
    """

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.app = TinyJobs(f"sqlite:///{folder / self.file}")
        self.mail = self.app.task(send_mail, name="send_mail")
        self.loop.run_until_complete(self.app.ready())
        self.backend = self.app.backend

    def enqueue(self) -> None:
        self.loop.run_until_complete(self.mail.aenqueue(**SMALL))

    def claim(self) -> Any | None:
        jobs = self.loop.run_until_complete(
            self.backend.claim(
                worker_id="worker", queues=QUEUES, limit=1, lease_seconds=LEASE_SECONDS
            )
        )
        return jobs[0] if jobs else None

    def complete(self, claimed: Any) -> None:
        assert self.loop.run_until_complete(self.backend.complete(claimed, None))

    def job_id(self, claimed: Any) -> str:
        return str(claimed.id)

    def connections(self) -> Sequence[sqlite3.Connection]:
        return list(self.backend._connections._all)

    def close(self) -> None:
        self.loop.run_until_complete(self.app.aclose())
        self.loop.close()


class TinyjobsBlocking(Tinyjobs):
    """What its coroutines hand to their thread, called directly: undocumented, but quicker."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # A connection of this thread, open before its durability is checked.
        assert self.backend._connections.connection is not None

    def claim(self) -> Any | None:
        jobs = self.backend._claim_sync("worker", QUEUES, 1, LEASE_SECONDS)
        return jobs[0] if jobs else None

    def complete(self, claimed: Any) -> None:
        assert self.backend._complete_sync(claimed, None)
