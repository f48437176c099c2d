"""The SQLite store: the embedded default, on a local disk or on a network volume.

Every write is one transaction. A claim seeks lane by lane (type × priority) and never sorts or
walks the backlog; an empty one takes no lock. See migrations/ for the tables and indexes.
"""

import json
import logging
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from queuelog_core.errors import ConfigError, LateReport
from queuelog_core.job import Job
from queuelog_core.stores import (
    Filter,
    Page,
    Position,
    Stats,
    Transition,
)
from queuelog_core.stores import sqlite_rows as sql
from queuelog_core.stores import sqlite_steps as steps
from queuelog_core.stores.sqlite_file import SqliteFile
from queuelog_core.stores.sqlite_lists import list_page
from queuelog_core.stores.sqlite_schema import is_current, migrate
from queuelog_core.stores.sqlite_stats import read_stats
from queuelog_core.stores.volume import LOCAL, NETWORK, Volume, is_network
from queuelog_core.transitions import came_late

SETTLED_PER_TYPE = 16
SETTLED_PER_TRANSACTION = 100
SETTLED_MAX = 64
PURGED_PER_TRANSACTION = 200
PROBE_BUSY_SECONDS = 1.0
_log = logging.getLogger(__name__)


def open_sqlite(path: str, query: str = "") -> "SqliteStore":
    """Open a file, made if it is not there. Raises ConfigError or StoreUnavailable."""
    options = parse_qs(query, keep_blank_values=True)
    volumes = {"local": LOCAL, "network": NETWORK}
    asked = options.pop("volume", ["auto"])[-1]
    if options or asked not in (*volumes, "auto"):
        raise ConfigError("the only option of an sqlite address is volume=local or volume=network")
    # SQLite names the journal after the file itself, not after a link to it.
    file = Path(path).resolve()
    if not file.parent.is_dir():
        raise ConfigError(f"{file.parent} is not a folder: make it, or mount it")
    if asked == "auto":
        asked = "network" if is_network(file) else "local"
    return SqliteStore(file, volumes[asked])


class SqliteStore:
    """See queuelog_core.stores.Store."""

    def __init__(self, path: Path, volume: Volume = LOCAL) -> None:
        self._file = SqliteFile(path, volume)
        if not self._file.read(is_current):
            self._file.write(migrate)
        _log.info(
            "store-opened", extra={"fields": {"file": str(path), "mode": volume.journal_mode}}
        )

    def insert(self, job: Job) -> tuple[Job, bool]:
        return self.insert_many([job])[0]

    def insert_many(self, jobs: Sequence[Job]) -> list[tuple[Job, bool]]:
        keyed = [job for job in jobs if job.idempotency_key is not None]
        if keyed:
            # A repeat is answered without the lock and without a commit.
            known = self._file.read(
                lambda connection: [steps.find(connection, job) for job in jobs]
            )
            if all(known):
                return [(job, False) for job in known if job]
        return self._file.write(lambda connection: [steps.insert(connection, job) for job in jobs])

    def get(self, job_id: int) -> Job | None:
        return self._file.read(lambda connection: steps.get(connection, job_id))

    def list(self, where: Filter, limit: int, after: Position | None) -> Page:
        return self._file.read(
            lambda connection: list_page(connection, where, limit, after, steps.get)
        )

    def claim(
        self, now: int, types: Sequence[str], limit: int, settle: Transition, claim: Transition
    ) -> Sequence[Job]:
        lanes = json.dumps(list(types))
        overdue, head = self._file.read(lambda connection: steps.peek(connection, now, lanes))
        if not overdue and head is None:
            return []

        def settle_some(connection: sqlite3.Connection, most: int) -> int:
            return steps.settle(connection, now, lanes, SETTLED_PER_TYPE, most, settle)

        def work(connection: sqlite3.Connection) -> Sequence[Job]:
            claimed: list[Job] = []
            settled = 0
            if overdue:
                settled = settle_some(connection, SETTLED_MAX)
            elif head is not None and (seen := steps.get_due(connection, head, now)):
                # It was the best when this call looked, so the lanes need no second look.
                claimed.append(steps.write(connection, seen, claim(seen))[0])
            while len(claimed) < limit:
                best = steps.due_heads(connection, now, lanes, limit - len(claimed))
                claimed += [steps.apply(connection, job_id, claim)[0] for job_id in best]
                if best:
                    continue
                rest = SETTLED_MAX - settled if settled and not claimed else 0
                more = settle_some(connection, rest) if rest else 0
                if not more:
                    break
                settled += more
            return claimed

        return self._file.write(work)

    def update(self, job_id: int, transition: Transition) -> tuple[Job, bool] | None:
        def work(
            connection: sqlite3.Connection,
        ) -> tuple[Job, bool] | LateReport | None:
            before = steps.get(connection, job_id)
            if before is None:
                return None
            try:
                after, changed = steps.write(connection, before, transition(before))
            except LateReport as late:
                # A stale report changes no job; that it came is worth a number.
                connection.execute(sql.ADD_LATE_REPORT, (before.type,))
                return late
            if changed and came_late(before, after):
                connection.execute(sql.ADD_LATE_REPORT, (before.type,))
            return after, changed

        answer = self._file.write(work)
        if isinstance(answer, LateReport):
            raise answer
        return answer

    def next_due_at(self, types: Sequence[str]) -> int | None:
        lanes = {"types": json.dumps(list(types))}
        row = self._file.read(lambda connection: connection.execute(sql.NEXT_DUE, lanes).fetchone())
        at: int | None = row[0]
        return at

    def settle_overdue(self, now: int, limit: int, settle: Transition) -> int:
        def peek(connection: sqlite3.Connection) -> bool:
            return bool(steps.overdue(connection, now, steps.all_types(connection), 1, 1))

        def batch(connection: sqlite3.Connection) -> int:
            most = min(SETTLED_PER_TRANSACTION, limit - settled)
            return steps.settle(connection, now, steps.all_types(connection), most, most, settle)

        settled = 0
        while settled < limit and self._file.read(peek):
            settled += self._file.write(batch)
        return settled

    def stats(self, now: int, types: Sequence[str] | None) -> Stats:
        return self._file.read(lambda connection: read_stats(connection, now, types))

    def purge(self, before: int, limit: int) -> int:
        def peek(connection: sqlite3.Connection) -> bool:
            return connection.execute(sql.ANY_FINISHED, (before,)).fetchone() is not None

        purged = 0
        while purged < limit and self._file.read(peek):
            most = min(PURGED_PER_TRANSACTION, limit - purged)
            purged += self._file.write(partial(steps.purge, before=before, most=most))
        return purged

    def check_writable(self) -> None:
        self._file.write(lambda connection: connection.execute(sql.PROBE), PROBE_BUSY_SECONDS)

    def close(self) -> None:
        self._file.close()
