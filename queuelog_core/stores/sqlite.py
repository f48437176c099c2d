"""The SQLite store: the embedded default, on a local disk or on a network volume.

Every write is one transaction. A claim seeks lane by lane (type × priority) and never sorts or
walks the backlog; an empty one takes no lock. See migrations/ for the tables and indexes.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from queuelog_core.errors import ConfigError, LateReport
from queuelog_core.job import TERMINAL, Job, Status
from queuelog_core.stores import (
    Dead,
    Filter,
    Page,
    Position,
    Stats,
    Taken,
    Transition,
)
from queuelog_core.stores import sqlite_rows as sql
from queuelog_core.stores import sqlite_steps as steps
from queuelog_core.stores.sqlite_backup import back_up
from queuelog_core.stores.sqlite_check import find_faults
from queuelog_core.stores.sqlite_claim import Ask, look, take
from queuelog_core.stores.sqlite_file import SqliteFile
from queuelog_core.stores.sqlite_lists import list_page
from queuelog_core.stores.sqlite_schema import is_current, migrate, migrations, version
from queuelog_core.stores.sqlite_stats import read_stats
from queuelog_core.stores.volume import LOCAL, NETWORK, Volume, is_network
from queuelog_core.transitions import came_late

if TYPE_CHECKING:
    from queuelog_core.stores.sqlite_copy import SqliteCopy

SETTLED_PER_TRANSACTION = 100
PURGED_PER_TRANSACTION = 200
PROBE_BUSY_SECONDS = 1.0
_log = logging.getLogger(__name__)


def open_sqlite(path: str, query: str = "", *, existing: bool = False) -> "SqliteStore":
    """Open a file, made or upgraded if need be, or an `existing` one just as it is.

    Raises ConfigError or StoreUnavailable.
    """
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
    if existing and not file.exists():
        raise ConfigError(f"{file} does not exist")
    return SqliteStore(file, volumes[asked], upgrade=not existing)


class SqliteStore:
    """See queuelog_core.stores.Store."""

    def __init__(self, path: Path, volume: Volume = LOCAL, *, upgrade: bool = True) -> None:
        # Whoever only looks at a file leaves it in the mode that it is in.
        self._file = SqliteFile(path, volume if upgrade else volume._replace(journal_mode=None))
        if upgrade and not self._file.read(is_current):
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

    def get_with_errors(self, job_id: int) -> tuple[Job, Mapping[int, str]] | None:
        return self._file.read(
            lambda connection: steps.get_with_errors(connection, job_id), snapshot=True
        )

    def claim(
        self,
        now: int,
        types: Sequence[str],
        limit: int,
        settle: Transition,
        claim: Transition,
        claim_key: bytes | None = None,
        *,
        tell_next_due: bool = False,
    ) -> Taken:
        lanes = json.dumps(list(types))
        ask = Ask(now, lanes, limit, settle, claim, claim_key, tell_next_due)
        one_statement = claim_key is None and not tell_next_due
        seen = self._file.read(lambda connection: look(connection, ask), snapshot=not one_statement)
        if isinstance(seen, Taken):
            return seen
        return self._file.write(lambda connection: take(connection, ask, seen))

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

    def find_dead(self, where: Dead, limit: int) -> Sequence[int]:
        return self._file.read(lambda connection: steps.find_dead(connection, where, limit))

    def update_many(self, job_ids: Sequence[int], transition: Transition) -> int:
        def work(connection: sqlite3.Connection) -> int:
            return sum(steps.try_to_apply(connection, job_id, transition) for job_id in job_ids)

        return self._file.write(work) if job_ids else 0

    def next_due_at(self, types: Sequence[str]) -> int | None:
        lanes = json.dumps(list(types))
        return self._file.read(lambda connection: steps.next_due_at(connection, lanes))

    def settle_overdue(self, now: int, limit: int, settle: Transition) -> int:
        def peek(connection: sqlite3.Connection) -> bool:
            return bool(steps.overdue(connection, now, steps.all_types(connection), 1, 1))

        def batch(connection: sqlite3.Connection, most: int) -> int:
            return steps.settle(connection, now, steps.all_types(connection), most, most, settle)

        return self._in_batches(limit, SETTLED_PER_TRANSACTION, peek, batch)

    def stats(self, now: int, types: Sequence[str] | None) -> Stats:
        return self._file.read(lambda connection: read_stats(connection, now, types))

    def purge(
        self,
        before: int,
        limit: int,
        statuses: Iterable[Status] = TERMINAL,
        *,
        to_the_end: bool = False,  # noqa: ARG002 - an index leads to those that go
    ) -> int:
        purged = 0
        for status in statuses:
            purged += self._in_batches(
                limit - purged,
                PURGED_PER_TRANSACTION,
                partial(steps.any_finished, status=status, before=before),
                partial(steps.purge, status=status, before=before),
            )
        return purged

    def _in_batches(
        self,
        limit: int,
        most: int,
        peek: Callable[[sqlite3.Connection], bool],
        batch: Callable[..., int],
    ) -> int:
        """Small transactions with room for others between them; how many jobs they changed."""
        done = 0
        while done < limit and self._file.read(peek):
            if done:
                self._file.let_others_write()
            done += self._file.write(partial(batch, most=min(most, limit - done)))
        return done

    def backup(self, target: Path) -> None:
        """Copy the file as it is at one instant, while others write. Raises StoreUnavailable, and
        ConfigError for a target that exists."""
        back_up(self._file, target)

    def size(self) -> int:
        return self._file.path.stat().st_size

    def check(self) -> Sequence[str]:
        """What is wrong with the file, in words; nothing when all is well."""
        return self._file.read(find_faults, snapshot=True)

    def migrate(self) -> tuple[int, int]:
        before = self._file.read(version)
        if before != len(migrations()):
            self._file.write(migrate)
        return before, len(migrations())

    def copying(self) -> "SqliteCopy":
        # No function copies, so none is made to load it, or to carry it.
        from queuelog_core.stores.sqlite_copy import SqliteCopy

        return SqliteCopy(self._file)

    def check_writable(self) -> None:
        self._file.write(lambda connection: connection.execute(sql.PROBE), PROBE_BUSY_SECONDS)

    def flush(self) -> None:
        """Nothing is only counted."""

    def close(self) -> None:
        self._file.close()
