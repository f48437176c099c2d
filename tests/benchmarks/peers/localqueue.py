"""localqueue: a queue in Rust with an SQLite of its own inside."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from localqueue import DurabilityMode, Empty, SimpleQueue

from tests.benchmarks.peers.peer import SMALL, Peer


class Localqueue(Peer):
    file = "localqueue.db"
    lacks: ClassVar = {"delayed": "delays only a job that was given back"}
    fill_sql = (
        """
        INSERT INTO messages (queue, payload, status, attempts, max_attempts, available_at,
                              created_at, updated_at)
        SELECT 'default', CAST(:payload AS BLOB), CASE :state WHEN 'completed' THEN 2 ELSE 0 END,
               :state = 'completed', 4, CAST(:past * 1000 AS INTEGER) + i,
               CAST(:past * 1000 AS INTEGER) + i, CAST(:past * 1000 AS INTEGER) + i
        FROM n
        """,
    )

    def __init__(self, folder: Path) -> None:
        self.queue: SimpleQueue[dict[str, str]] = SimpleQueue(
            str(folder), durability=DurabilityMode.DURABLE
        )

    def enqueue(self) -> None:
        self.queue.put(SMALL)

    def claim(self) -> Any | None:
        try:
            # block=False says Empty as well when another process writes; this waits for its turn.
            return self.queue.get(timeout=0)
        except Empty:
            return None

    def complete(self, claimed: Any) -> None:
        self.queue.ack(claimed)

    def job_id(self, claimed: Any) -> int:
        return int(claimed.id)

    def connections(self) -> Sequence[sqlite3.Connection]:
        # It cannot be reached. One of ours on the same file would, when closed, drop its locks.
        return []

    def synchronous(self) -> set[int]:
        return {self.queue.diagnostics().synchronous}

    def counts(self) -> tuple[int, int]:
        stats = self.queue.stats()
        return stats["ready"], stats["acked"]

    def close(self) -> None:
        self.queue.close()
