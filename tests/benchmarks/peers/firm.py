"""firm-queue: Solid Queue's design on SQLAlchemy. A claim answers an id; a run reads the job."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import firm.queue
from firm.queue import schema
from firm.queue.claim import claim_ready
from firm.queue.results import execute_claimed
from sqlalchemy import event

from tests.benchmarks.peers.peer import SMALL, Peer


def _send_mail(to: str, subject: str) -> None:
    """Running it is part of what completes a job, and must cost nothing."""


send_mail = firm.queue.job()(_send_mail)
_AT = "strftime('%Y-%m-%d %H:%M:%f', {} + i * 1e-3, 'unixepoch') || '000'"
_PAST, _DUE = _AT.format(":past"), _AT.format(":due")


def _full(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous=FULL")


class Firm(Peer):
    payload = '{"args":[],"kwargs":{"to":"ada@example.com","subject":"Hello"}}'
    fill_sql = (
        f"""
        INSERT INTO firm_queue_jobs (id, queue_name, class_name, arguments, priority, scheduled_at,
                                     finished_at, created_at, updated_at)
        SELECT i, 'default', '{send_mail.class_name}', :payload, -:priority, {_DUE},
               CASE :state WHEN 'completed' THEN {_PAST} END, {_PAST}, {_PAST}
        FROM n
        """,
        f"""
        INSERT INTO firm_queue_ready_executions (job_id, queue_name, priority, created_at)
        SELECT i, 'default', -:priority, {_PAST} FROM n WHERE :state = 'pending'
        """,
        f"""
        INSERT INTO firm_queue_scheduled_executions (job_id, queue_name, priority, scheduled_at,
                                                     created_at)
        SELECT i, 'default', -:priority, {_DUE}, {_PAST} FROM n WHERE :state = 'delayed'
        """,
    )
    counts_sql = """
        SELECT (SELECT count(*) FROM firm_queue_ready_executions),
               (SELECT count(*) FROM firm_queue_jobs WHERE finished_at IS NOT NULL)
    """

    def __init__(self, folder: Path) -> None:
        self.runtime = firm.queue.configure(f"sqlite:///{folder / self.file}")
        # It sets NORMAL on each connection that it opens; listeners run in their order.
        event.listen(self.runtime.engine, "connect", _full)
        schema.create_all(self.runtime.engine)

    def enqueue(self) -> None:
        send_mail.enqueue(**SMALL)

    def claim(self) -> Any | None:
        ids = claim_ready(self.runtime.engine, self.runtime.dialect, ["*"], 1, None)
        return ids[0] if ids else None

    def complete(self, claimed: Any) -> None:
        assert execute_claimed(self.runtime, claimed)

    def job_id(self, claimed: Any) -> int:
        return int(claimed)

    def connections(self) -> Sequence[sqlite3.Connection]:
        with self.runtime.engine.connect() as connection:
            assert connection.connection.driver_connection is not None
            return [connection.connection.driver_connection]

    def close(self) -> None:
        self.runtime.reset()
