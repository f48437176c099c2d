"""litequeue: put, pop, done."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import litequeue

from tests.benchmarks.peers.peer import Peer


class Litequeue(Peer):
    lacks: ClassVar = {"delayed": "has no delayed jobs"}
    # Ids are UUIDs of version 7 and give the order; these sort before every new one.
    fill_sql = (
        """
        INSERT INTO Queue (data, message_id, status, in_time, lock_time, done_time)
        SELECT :payload, printf('06000000-0000-7000-8000-%012x', i),
               CASE :state WHEN 'completed' THEN 2 ELSE 0 END, CAST(:past * 1e9 AS INTEGER) + i,
               CASE :state WHEN 'completed' THEN CAST(:past * 1e9 AS INTEGER) + i END,
               CASE :state WHEN 'completed' THEN CAST(:past * 1e9 AS INTEGER) + i END
        FROM n
        """,
    )
    counts_sql = (
        "SELECT count(*) FILTER (WHERE status = 0), count(*) FILTER (WHERE status = 2) FROM Queue"
    )

    def __init__(self, folder: Path) -> None:
        self.queue = litequeue.LiteQueue(folder / self.file)
        # It sets NORMAL by itself and has no option for it.
        self.queue.conn.execute("PRAGMA synchronous=FULL")

    def enqueue(self) -> None:
        self.queue.put(self.payload)

    def claim(self) -> Any | None:
        return self.queue.pop()

    def complete(self, claimed: Any) -> None:
        self.queue.done(claimed.message_id)

    def job_id(self, claimed: Any) -> str:
        return str(claimed.message_id)

    def connections(self) -> Sequence[sqlite3.Connection]:
        return [self.queue.conn]

    def close(self) -> None:
        self.queue.close()
