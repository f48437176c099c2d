"""Faults as a queue may have them, each planted by a few lines: what the tests must find."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from queuelog_core import reports, transitions
from queuelog_core.clock import monotonic_seconds
from queuelog_core.stores import Taken, sqlite_file
from queuelog_core.stores import sqlite_rows as sql
from queuelog_core.stores import sqlite_steps as steps
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.sqlite_connection import connect, patiently
from queuelog_core.stores.sqlite_file import SqliteFile

Replace = Callable[[Any, str, Any], None]
"""setattr, or one that is undone after a test."""
UNCOMMITTED_SECONDS = 0.1
THOUGHT_SECONDS = 0.003


def no_owner_check(replace: Replace) -> None:
    """Whoever reports is taken for the holder."""

    def judge(job: Any, report: Any) -> Any:
        return reports.judge(job, report._replace(worker_id=job.worker_id or report.worker_id))

    replace(transitions, "judge", judge)


def owner_only_check(replace: Replace) -> None:
    """The attempt that a report names is not looked at."""

    def judge(job: Any, report: Any) -> Any:
        return reports.judge(job, report._replace(attempt=job.attempt))

    replace(transitions, "judge", judge)


def acknowledge_before_commit(replace: Replace) -> None:
    """Writes of many calls are committed together, and answered before."""
    lock = threading.RLock()
    connections: dict[SqliteFile, Any] = {}

    def commit(connection: Any) -> None:
        with lock:
            connection.execute("COMMIT")

    def read(self: SqliteFile, work: Any, *, snapshot: bool = False) -> Any:
        with lock:
            deadline = monotonic_seconds() + self._volume.busy_seconds
            if self not in connections:
                connections[self] = connect(self.path, self._volume, "rw", deadline)
            return patiently(lambda: work(connections[self]), self._volume, deadline)

    def write(self: SqliteFile, work: Any, busy_seconds: float | None = None) -> Any:
        def step(connection: Any) -> Any:
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
                threading.Timer(UNCOMMITTED_SECONDS, commit, [connection]).start()
            connection.execute("SAVEPOINT one")
            try:
                return work(connection)
            except BaseException:
                connection.execute("ROLLBACK TO one")
                raise
            finally:
                connection.execute("RELEASE one")

        return read(self, step)

    replace(SqliteFile, "read", read)
    replace(SqliteFile, "write", write)


def check_then_claim(replace: Replace) -> None:
    """A claim chooses without the lock, and writes without looking again."""
    settle_and_claim = SqliteStore.claim

    def claim(
        self: SqliteStore,
        now: int,
        types: Sequence[str],
        limit: int,
        settle: Any,
        claim: Any,
        *more: Any,
        **options: Any,
    ) -> Taken:
        lanes = json.dumps(list(types))

        def choose(connection: Any) -> list[Any]:
            found = steps.due_heads(connection, now, lanes, limit)
            return [job for each in found if (job := steps.get_due(connection, each, now))]

        def take(connection: Any) -> Taken:
            jobs = [claim(job) for job in chosen]
            for job in jobs:
                row = connection.execute("SELECT version FROM jobs WHERE id = ?", (job.id,))
                connection.execute(sql.UPDATE_JOB, sql.update_values(job, row.fetchone()[0]))
            return Taken(jobs, False, steps.next_due_at(connection, lanes))

        chosen = self._file.read(choose, snapshot=True)
        if not chosen:
            return settle_and_claim(self, now, types, limit, settle, claim, *more, **options)
        time.sleep(THOUGHT_SECONDS)
        return self._file.write(take)

    replace(SqliteStore, "claim", claim)


def no_recovery(replace: Replace) -> None:
    """A lease that ran out is never settled."""
    replace(steps, "overdue", lambda *_: [])


def text_times_of_mixed_width(replace: Replace) -> None:
    """Times are compared as text, in which a whole second has no fraction."""

    def as_text(at: int | None) -> str | None:
        if at is None:
            return None
        return datetime.fromtimestamp(at / 1000, UTC).replace(tzinfo=None).isoformat() + "Z"

    def connect_with_texts(*arguments: Any) -> Any:
        connection = connect(*arguments)
        connection.create_function("as_text", 1, as_text, deterministic=True)
        return connection

    replace(sqlite_file, "connect", connect_with_texts)
    for name in ("PEEK", "OVERDUE", "DUE_HEADS"):
        statement: str = getattr(sql, name)
        for column in ("j.lease_expires_at", "lease_expires_at", "run_at"):
            statement = statement.replace(
                f" {column} <= :now", f" as_text({column}) <= as_text(:now)"
            )
        replace(sql, name, statement)


def lost_rollback(replace: Replace) -> None:
    """After an error the transaction stays open."""
    replace(SqliteFile, "_end", lambda *_: None)


def global_key(replace: Replace) -> None:
    """An idempotency key is looked up without its producer."""
    replace(sql, "FIND_KEY", "SELECT id FROM jobs WHERE ?1 IS NOT NULL AND idempotency_key = ?2")


BUGS: dict[str, Callable[[Replace], None]] = {
    bug.__name__: bug
    for bug in (
        no_owner_check,
        owner_only_check,
        acknowledge_before_commit,
        check_then_claim,
        no_recovery,
        text_times_of_mixed_width,
        lost_rollback,
        global_key,
    )
}


def plant_for_good(bug: str) -> None:
    """Plant one into this process."""
    BUGS[bug](setattr)
