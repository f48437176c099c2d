"""What a queue under measure offers, and how its file is filled.

Nothing here or in the adapters imports queuelog: the peers live in an environment without it.
"""

import json
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

SMALL = {"to": "ada@example.com", "subject": "Hello"}
DAY = 86_400
FULL = 2
_ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows) "


class Peer(ABC):
    """One queue, opened in a folder; each method is that queue's own way to do it.

    `lacks` names the works that it cannot do, with the reason. `fill_sql` inserts `:rows` jobs that
    are `:state` (pending, delayed or completed), one for each `i` of a table `n`; `counts_sql`
    answers how many are pending and how many completed.
    """

    file: ClassVar[str] = "queue.db"
    lacks: ClassVar[Mapping[str, str]] = {}
    payload: ClassVar[str | bytes] = json.dumps(SMALL)
    fill_sql: ClassVar[Sequence[str]] = ()
    counts_sql: ClassVar[str] = ""

    @abstractmethod
    def __init__(self, folder: Path) -> None: ...

    @abstractmethod
    def enqueue(self) -> None:
        """Store one small job, due at once."""

    @abstractmethod
    def claim(self) -> Any | None:
        """Take the next due job: what `complete` needs, or None."""

    @abstractmethod
    def complete(self, claimed: Any) -> None:
        """Record the work as done."""

    @abstractmethod
    def job_id(self, claimed: Any) -> Hashable:
        """What tells one job from another."""

    @abstractmethod
    def connections(self) -> Sequence[sqlite3.Connection]:
        """The queue's own connections."""

    @abstractmethod
    def close(self) -> None: ...

    def synchronous(self) -> set[int]:
        """The level of durability that its connections have: 2 is FULL."""
        return {c.execute("PRAGMA synchronous").fetchone()[0] for c in self.connections()}

    def counts(self) -> tuple[int, int]:
        """Number of pending and of completed jobs."""
        pending, completed = self.connections()[0].execute(self.counts_sql).fetchone()
        return pending, completed

    @classmethod
    def fill(cls, folder: Path, rows: int, state: str) -> None:
        """Add jobs by SQL, as its own calls would leave them: those would take hours.

        Pending ones are due since the last hour, in the order of their ids. Delayed ones are due
        tomorrow, and of a higher priority: they stand before what is due.
        """
        cls(folder).close()
        now = time.time()
        delayed = state == "delayed"
        values = {
            "rows": rows,
            "state": state,
            "payload": cls.payload,
            "priority": 10 if delayed else 0,
            "past": now - 3600,
            "due": now + DAY if delayed else now - 3600,
        }
        connection = sqlite3.connect(folder / cls.file, isolation_level=None)
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        for statement in cls.fill_sql:
            connection.execute(_ROWS + statement, values)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
