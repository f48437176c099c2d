"""persist-queue: the SQLite queue with acknowledgement."""

import pickle
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import persistqueue

from tests.benchmarks.peers.peer import SMALL, Peer


class PersistQueue(Peer):
    file = "data.db"
    lacks: ClassVar = {"delayed": "has no delayed jobs"}
    payload = pickle.dumps(SMALL)
    fill_sql = (
        """
        INSERT INTO ack_queue_default (data, timestamp, status)
        SELECT :payload, :past + i * 1e-3, CASE :state WHEN 'completed' THEN 5 ELSE 0 END FROM n
        """,
    )
    counts_sql = """
        SELECT count(*) FILTER (WHERE status < 2), count(*) FILTER (WHERE status = 5)
        FROM ack_queue_default
    """

    def __init__(self, folder: Path) -> None:
        # Without auto_resume=False a worker that starts takes the running jobs of the others.
        self.queue = persistqueue.SQLiteAckQueue(str(folder), auto_resume=False)

    def enqueue(self) -> None:
        self.queue.put(SMALL)

    def claim(self) -> Any | None:
        try:
            return self.queue.get(block=False, raw=True)
        except persistqueue.Empty:
            return None

    def complete(self, claimed: Any) -> None:
        self.queue.ack(id=claimed["pqid"])

    def job_id(self, claimed: Any) -> int:
        return int(claimed["pqid"])

    def connections(self) -> Sequence[sqlite3.Connection]:
        return [self.queue._getter, self.queue._putter]

    def close(self) -> None:
        self.queue.close()
