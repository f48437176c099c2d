"""Backlogs of any size, filled by SQL: what a claim has to find its job in."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from queuelog_core.stores.sqlite import SqliteStore
from tests.support.factories import NOON

LATER = NOON + 86_400_000
TYPES_CLAIMED = ("email", "pdf", "sync", "report")

_FILL = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)
INSERT INTO jobs (type, priority, status, max_retries, created_at, updated_at, run_at, producer_id,
                  worker_id, claimed_at, lease_expires_at, finished_at, attempt)
SELECT CASE :types WHEN 0 THEN 'other' WHEN 1 THEN 'email' ELSE
           CASE i % :types WHEN 0 THEN 'email' WHEN 1 THEN 'pdf' WHEN 2 THEN 'sync'
                           WHEN 3 THEN 'report' ELSE 'type' || (i % :types) END END,
       (i / 20 % 4) * 10, :status, 3, :noon, :noon, :run_at, 'shop',
       CASE WHEN :status <> 'pending' THEN 'mailer' END,
       CASE WHEN :status <> 'pending' THEN :noon END,
       CASE WHEN :status = 'running' THEN :later END,
       CASE WHEN :status = 'completed' THEN :noon END,
       :status <> 'pending'
FROM n
"""
BACKLOGS: dict[str, dict[str, Any]] = {
    "all due": {"types": 4, "status": "pending", "run_at": NOON},
    "delayed in front": {"types": 4, "status": "pending", "run_at": LATER},
    "a rare type": {"types": 0, "status": "pending", "run_at": NOON},
    "twenty types": {"types": 20, "status": "pending", "run_at": NOON},
    "live leases": {"types": 4, "status": "running", "run_at": NOON},
    "completed kept": {"types": 4, "status": "completed", "run_at": NOON},
}


def fill(path: Path, rows: int, *, types: int, status: str, run_at: int) -> None:
    """Add jobs with payloads to a store's file; `types` 0 means one type that nobody claims."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    values = {"rows": rows, "types": types, "status": status, "run_at": run_at}
    connection.execute(_FILL, values | {"noon": NOON, "later": LATER})
    connection.execute(
        "INSERT INTO job_payloads SELECT id, '{}' FROM jobs"
        " WHERE id NOT IN (SELECT job_id FROM job_payloads)"
    )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def thread_connection(store: SqliteStore) -> sqlite3.Connection:
    """The connection that this thread's calls on the store go through."""
    return store._file.read(lambda connection: connection)


def steps(store: SqliteStore, call: Callable[[], object]) -> int:
    """Steps of SQLite's virtual machine that a call takes."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    connection = thread_connection(store)
    connection.set_progress_handler(step, 1)
    call()
    connection.set_progress_handler(None, 0)
    return count
