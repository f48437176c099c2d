"""spoolctl: its store, which the command and its workers call. A job is a command line."""

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spoolctl import store

from tests.benchmarks.peers.peer import Peer

ARGV = ["mail", "ada@example.com", "Hello"]


class Spoolctl(Peer):
    payload = json.dumps(ARGV)
    fill_sql = (
        """
        INSERT INTO jobs (id, argv_json, state, created_at, next_run_at, priority, started_at,
                          finished_at, last_exit_code)
        SELECT i, :payload, CASE :state WHEN 'completed' THEN 'done' ELSE 'queued' END,
               :past + i * 1e-3, :due + i * 1e-3, :priority,
               CASE :state WHEN 'completed' THEN :past + i * 1e-3 END,
               CASE :state WHEN 'completed' THEN :past + i * 1e-3 END,
               CASE :state WHEN 'completed' THEN 0 END
        FROM n
        """,
        """
        INSERT INTO attempts (job_id, attempt_no, worker_id, worker_pid, state, started_at,
                              finished_at, exit_code, stdout_path, stderr_path)
        SELECT i, 1, 'worker', 1, 'succeeded', :past + i * 1e-3, :past + i * 1e-3, 0,
               'output/' || i || '/1/stdout', 'output/' || i || '/1/stderr'
        FROM n WHERE :state = 'completed'
        """,
        """
        INSERT INTO job_events (job_id, at, event, worker_id)
        SELECT i, :past + i * 1e-3, e.value, CASE e.value WHEN 'added' THEN NULL ELSE 'worker' END
        FROM n CROSS JOIN json_each('["added", "claimed", "succeeded"]') AS e
        WHERE :state = 'completed' OR e.value = 'added'
        """,
    )
    counts_sql = """
        SELECT count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'done')
        FROM jobs
    """

    def __init__(self, folder: Path) -> None:
        self.connection: sqlite3.Connection = store.connect(str(folder / self.file))
        # It sets NORMAL by itself and has no option for it.
        self.connection.execute("PRAGMA synchronous=FULL")

    def enqueue(self) -> None:
        store.add_job(self.connection, ARGV, 300, 3, time.time())

    def claim(self) -> Any | None:
        return store.claim_next(self.connection, "worker", os.getpid(), time.time(), "output")

    def complete(self, claimed: Any) -> None:
        job, attempt = claimed
        state = store.record_success(
            self.connection, job.id, attempt.id, "worker", os.getpid(), time.time()
        )
        assert state == "done"

    def job_id(self, claimed: Any) -> int:
        return int(claimed[0].id)

    def connections(self) -> Sequence[sqlite3.Connection]:
        return [self.connection]

    def close(self) -> None:
        self.connection.close()
