"""The anchor of a run: one-row commits of bare sqlite3 in one plain table."""

import sqlite3
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.peer import Peer

_NO_QUEUE = "a table, no queue"


class Bare(Peer):
    lacks = dict.fromkeys(("pairs", "together", "pending", "delayed", "completed"), _NO_QUEUE)

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / self.file, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, payload TEXT NOT NULL)")

    def enqueue(self) -> None:
        self.connection.execute("INSERT INTO jobs (payload) VALUES (?)", (self.payload,))

    def claim(self) -> Any | None:
        raise NotImplementedError(_NO_QUEUE)

    def complete(self, claimed: Any) -> None:
        raise NotImplementedError(_NO_QUEUE)

    def job_id(self, claimed: Any) -> Hashable:
        raise NotImplementedError(_NO_QUEUE)

    def connections(self) -> Sequence[sqlite3.Connection]:
        return [self.connection]

    def close(self) -> None:
        self.connection.close()
