"""The SQLite store: the embedded default, on a local disk or on a network volume.

Every write is one transaction. A claim seeks lane by lane (type × priority) and never sorts or
walks the backlog; an empty one takes no lock. See migrations/ for the tables and indexes.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from queuelog_core.errors import ConfigError, LeaseLost
from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores import (
    Filter,
    Page,
    Position,
    Stats,
    Transition,
)
from queuelog_core.stores import sqlite_rows as sql
from queuelog_core.stores.sqlite_file import SqliteFile
from queuelog_core.stores.sqlite_lists import list_page
from queuelog_core.stores.sqlite_schema import migrate
from queuelog_core.stores.sqlite_stats import read_stats
from queuelog_core.stores.volume import LOCAL, NETWORK, Volume, is_network
from queuelog_core.transitions import HISTORY_MAX, came_late

SETTLED_PER_ROUND = 16
SETTLED_MAX = 64
PURGED_PER_TRANSACTION = 200
PROBE_BUSY_SECONDS = 1.0
_PRIORITIES = sorted(Priority, reverse=True)


def open_sqlite(path: str, query: str = "") -> "SqliteStore":
    """Open a file, made if it is not there. Raises ConfigError or StoreUnavailable."""
    options = parse_qs(query, keep_blank_values=True)
    volumes = {"local": LOCAL, "network": NETWORK}
    asked = options.pop("volume", ["auto"])[-1]
    if options or asked not in (*volumes, "auto"):
        raise ConfigError("the only option of an sqlite address is volume=local or volume=network")
    file = Path(path).absolute()
    if not file.parent.is_dir():
        raise ConfigError(f"{file.parent} is not a folder: make it, or mount it")
    if asked == "auto":
        asked = "network" if is_network(file) else "local"
    return SqliteStore(file, volumes[asked])


class SqliteStore:
    """See queuelog_core.stores.Store."""

    def __init__(self, path: Path, volume: Volume = LOCAL) -> None:
        self._file = SqliteFile(path, volume, migrate)

    def insert(self, job: Job) -> tuple[Job, bool]:
        return self.insert_many([job])[0]

    def insert_many(self, jobs: Sequence[Job]) -> list[tuple[Job, bool]]:
        keyed = [job for job in jobs if job.idempotency_key is not None]
        if keyed:
            # A repeat is answered without the lock and without a commit.
            known = self._file.read(lambda connection: [_find(connection, job) for job in jobs])
            if all(known):
                return [(job, False) for job in known if job]
        return self._file.write(lambda connection: [_insert(connection, job) for job in jobs])

    def get(self, job_id: int) -> Job | None:
        return self._file.read(lambda connection: _get(connection, job_id))

    def list(self, where: Filter, limit: int, after: Position | None) -> Page:
        return self._file.read(lambda connection: list_page(connection, where, limit, after, _get))

    def claim(
        self, now: int, types: Sequence[str], limit: int, settle: Transition, claim: Transition
    ) -> Sequence[Job]:
        lanes = json.dumps(list(types))
        overdue, head = self._file.read(
            lambda c: (_overdue(c, now, lanes, 1) != [], _due_head(c, now, lanes))
        )
        if not overdue and head is None:
            return []

        def work(connection: sqlite3.Connection) -> Sequence[Job]:
            claimed: list[Job] = []
            settled = 0
            if overdue:
                settled = _settle(connection, now, lanes, SETTLED_MAX, settle)
            elif head is not None and (seen := _get_due(connection, head, now)):
                # It was the best when this call looked, so the lanes need no second look.
                claimed.append(_write(connection, seen, claim(seen))[0])
            while len(claimed) < limit:
                best = _due_head(connection, now, lanes)
                if best is not None:
                    claimed.append(_apply(connection, best, claim)[0])
                    continue
                rest = SETTLED_MAX - settled if settled and not claimed else 0
                more = _settle(connection, now, lanes, rest, settle) if rest else 0
                if not more:
                    break
                settled += more
            return claimed

        return self._file.write(work)

    def update(self, job_id: int, transition: Transition) -> tuple[Job, bool] | None:
        def work(
            connection: sqlite3.Connection,
        ) -> tuple[Job, bool] | LeaseLost | None:
            before = _get(connection, job_id)
            if before is None:
                return None
            try:
                after, changed = _write(connection, before, transition(before))
            except LeaseLost as late:
                # A stale report changes no job; that it came is worth a number.
                connection.execute(sql.ADD_LATE_REPORT, (before.type,))
                return late
            if changed and came_late(before, after):
                connection.execute(sql.ADD_LATE_REPORT, (before.type,))
            return after, changed

        answer = self._file.write(work)
        if isinstance(answer, LeaseLost):
            raise answer
        return answer

    def next_due_at(self, types: Sequence[str]) -> int | None:
        lanes = {"types": json.dumps(list(types))}
        row = self._file.read(lambda connection: connection.execute(sql.NEXT_DUE, lanes).fetchone())
        at: int | None = row[0]
        return at

    def settle_overdue(self, now: int, limit: int, settle: Transition) -> int:
        def work(connection: sqlite3.Connection) -> int:
            return _settle(connection, now, _all_types(connection), limit, settle)

        def peek(connection: sqlite3.Connection) -> Sequence[int]:
            return _overdue(connection, now, _all_types(connection), 1)

        return self._file.write(work) if self._file.read(peek) else 0

    def stats(self, now: int, types: Sequence[str] | None) -> Stats:
        return self._file.read(lambda connection: read_stats(connection, now, types))

    def purge(self, before: int, limit: int) -> int:
        def peek(connection: sqlite3.Connection) -> bool:
            return connection.execute(sql.ANY_FINISHED, (before,)).fetchone() is not None

        purged = 0
        while purged < limit and self._file.read(peek):
            most = min(PURGED_PER_TRANSACTION, limit - purged)
            purged += self._file.write(partial(_purge, before=before, most=most))
        return purged

    def check_writable(self) -> None:
        self._file.write(lambda connection: connection.execute(sql.PROBE), PROBE_BUSY_SECONDS)

    def close(self) -> None:
        self._file.close()


def _purge(connection: sqlite3.Connection, before: int, most: int) -> int:
    return connection.execute(sql.PURGE, (before, most)).rowcount


def _get(connection: sqlite3.Connection, job_id: int) -> Job | None:
    row = connection.execute(sql.GET_JOB, (job_id,)).fetchone()
    return None if row is None else sql.read_job(row)


def _get_due(connection: sqlite3.Connection, job_id: int, now: int) -> Job | None:
    job = _get(connection, job_id)
    return job if job and job.status is Status.PENDING and job.run_at <= now else None


def _find(connection: sqlite3.Connection, job: Job) -> Job | None:
    """The job that this producer made with this key before."""
    if job.idempotency_key is None:
        return None
    row = connection.execute(sql.FIND_KEY, (job.producer_id, job.idempotency_key)).fetchone()
    return None if row is None else _get(connection, row[0])


def _insert(connection: sqlite3.Connection, job: Job) -> tuple[Job, bool]:
    cursor = connection.execute(sql.INSERT_JOB, sql.insert_values(job))
    if cursor.rowcount == 0:
        known = _find(connection, job)
        assert known is not None
        return known, False
    job_id = cursor.lastrowid
    assert job_id is not None
    connection.execute(sql.INSERT_PAYLOAD, (job_id, job.payload))
    return replace(job, id=job_id), True


def _overdue(connection: sqlite3.Connection, now: int, lanes: str, most: int) -> Sequence[int]:
    bounds = {"types": lanes, "now": now, "per_type": SETTLED_PER_ROUND, "most": most}
    return [row[0] for row in connection.execute(sql.OVERDUE, bounds).fetchall()]


def _settle(
    connection: sqlite3.Connection, now: int, lanes: str, most: int, settle: Transition
) -> int:
    """One round: some of the oldest overdue leases of each type."""
    overdue = _overdue(connection, now, lanes, most)
    for job_id in overdue:
        _apply(connection, job_id, settle)
    return len(overdue)


def _due_head(connection: sqlite3.Connection, now: int, lanes: str) -> int | None:
    """The best due job of these lanes, from critical down."""
    for priority in _PRIORITIES:
        bounds = {"types": lanes, "priority": priority.value, "now": now}
        row = connection.execute(sql.DUE_HEAD, bounds).fetchone()
        if row is not None:
            job_id: int = row[0]
            return job_id
    return None


def _all_types(connection: sqlite3.Connection) -> str:
    """Every type that ever had a job, also one that has left the registry."""
    return json.dumps(sorted({row[0] for row in connection.execute(sql.COUNTERS).fetchall()}))


def _apply(connection: sqlite3.Connection, job_id: int, transition: Transition) -> tuple[Job, bool]:
    before = _get(connection, job_id)
    assert before is not None
    return _write(connection, before, transition(before))


def _write(connection: sqlite3.Connection, before: Job, after: Job) -> tuple[Job, bool]:
    """Replace one state of a job by the next; texts go to their own tables, once."""
    if after is before:
        return before, False
    cursor = connection.execute(sql.UPDATE_JOB, sql.update_values(after, before.version))
    assert cursor.rowcount == 1
    if after.result is not None and after.result != before.result:
        connection.execute(sql.INSERT_RESULT, (after.id, after.result))
    if after.error_attempt is not None and after.error_attempt != before.error_attempt:
        connection.execute(sql.INSERT_ERROR, (after.id, after.error_attempt, after.error))
        if after.attempt > HISTORY_MAX:
            connection.execute(sql.DELETE_OLD_ERRORS, (after.id, after.history[0].attempt))
    return after, True
