"""GigQ: submit, and what its worker does around the function of a job."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from gigq import Job, JobQueue, JobStatus, Worker
from gigq.db_utils import get_connection

from tests.benchmarks.peers.peer import SMALL, Peer

_PAST = "strftime('%Y-%m-%dT%H:%M:%f', :past + i * 1e-3, 'unixepoch', 'localtime') || '000'"


def send_mail(to: str, subject: str) -> None:
    """The function that the jobs name; nothing here runs it."""


class Gigq(Peer):
    lacks: ClassVar = {"delayed": "delays only the retry of a failed job"}
    payload = json.dumps(SMALL)
    fill_sql = (
        f"""
        INSERT INTO jobs (id, name, function_name, function_module, params, priority,
                          dependencies, description, status, created_at, updated_at,
                          attempts, started_at, completed_at)
        SELECT printf('00000000-0000-4000-8000-%012x', i), 'mail', 'send_mail', '{__name__}',
               :payload, :priority, '[]', '', :state, {_PAST}, {_PAST}, :state = 'completed',
               CASE :state WHEN 'completed' THEN {_PAST} END,
               CASE :state WHEN 'completed' THEN {_PAST} END
        FROM n
        """,
        f"""
        INSERT INTO job_executions (id, job_id, worker_id, status, started_at, completed_at)
        SELECT printf('00000000-0000-4000-9000-%012x', i),
               printf('00000000-0000-4000-8000-%012x', i), 'worker', 'completed', {_PAST}, {_PAST}
        FROM n WHERE :state = 'completed'
        """,
    )
    counts_sql = """
        SELECT count(*) FILTER (WHERE status = 'pending'),
               count(*) FILTER (WHERE status = 'completed')
        FROM jobs
    """

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / self.file)
        self.queue = JobQueue(self.path)
        self.worker = Worker(self.path, worker_id="worker")

    def enqueue(self) -> None:
        self.queue.submit(Job(name="mail", function=send_mail, params=SMALL))

    def claim(self) -> Any | None:
        # process_one, the documented call, claims and completes in one and looks for timeouts too.
        return self.worker._claim_job()

    def complete(self, claimed: Any) -> None:
        self.worker._complete_job(claimed["id"], claimed["execution_id"], JobStatus.COMPLETED)

    def job_id(self, claimed: Any) -> str:
        return str(claimed["id"])

    def connections(self) -> Sequence[sqlite3.Connection]:
        return [get_connection(self.path)]

    def close(self) -> None:
        self.queue.close()
