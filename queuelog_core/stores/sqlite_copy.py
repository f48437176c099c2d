"""Copying from and to an SQLite file: jobs in the order of their ids, which they keep."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from queuelog_core.errors import ConfigError
from queuelog_core.stores import sqlite_rows as sql
from queuelog_core.stores import sqlite_steps as steps
from queuelog_core.stores.copied import Copied, Running, Totals, with_errors
from queuelog_core.stores.sqlite_file import SqliteFile
from queuelog_core.stores.sqlite_restore import LAST_ID, go_on_after
from queuelog_core.stores.sqlite_schema import is_current

PER_TRANSACTION = 200
COUNT = "SELECT count(*) FROM jobs"
NEXT_IDS = "SELECT id FROM jobs WHERE id > ? ORDER BY id LIMIT ?"
RUNNING = """
SELECT count(*), coalesce(min(lease_expires_at), 0), coalesce(max(lease_expires_at), 0)
FROM jobs INDEXED BY jobs_lease WHERE status = 'running'
"""
INSERT_WITH_ID = """
INSERT INTO jobs (id, type, priority, max_retries, idempotency_key, created_at, updated_at, run_at,
                  producer_id, fingerprint)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING
"""
NEW_VERSION = 1
LATE_REPORTS = "SELECT type, n FROM counters WHERE name = 'late_reports'"
PUT_LATE_REPORTS = """
INSERT INTO counters (type, name, n) VALUES (?, 'late_reports', ?)
ON CONFLICT (type, name) DO UPDATE SET n = excluded.n
"""


class SqliteCopy:
    """See queuelog_core.stores.copied.StoreCopy."""

    def __init__(self, file: SqliteFile) -> None:
        if not file.read(is_current):
            raise ConfigError(f"{file.path} is of an older schema version: queuelog db migrate")
        self._file = file

    def count(self) -> int:
        return self._file.read(lambda connection: int(connection.execute(COUNT).fetchone()[0]))

    def running(self) -> Running:
        return self._file.read(lambda connection: Running(*connection.execute(RUNNING).fetchone()))

    def export(self) -> Iterator[Sequence[Copied]]:
        last_id = 0
        while some := self._after(last_id):
            yield some
            last_id = some[-1].job.id

    def read(self, job_ids: Sequence[int]) -> Mapping[int, Copied]:
        def work(connection: sqlite3.Connection) -> list[Copied]:
            return _read(connection, job_ids)

        return {one.job.id: one for one in self._file.read(work, snapshot=True)}

    def put(self, many: Sequence[Copied]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for one in many:
                _put(connection, one)

        if many:
            self._file.write(work)

    def totals(self) -> Totals:
        def work(connection: sqlite3.Connection) -> Totals:
            late = dict(connection.execute(LATE_REPORTS).fetchall())
            return Totals(connection.execute(LAST_ID).fetchone()[0], late, {})

        return self._file.read(work, snapshot=True)

    def put_totals(self, totals: Totals) -> None:
        """Triggers have counted the completed jobs."""

        def work(connection: sqlite3.Connection) -> None:
            go_on_after(connection, totals.last_id)
            connection.executemany(PUT_LATE_REPORTS, list(totals.late.items()))

        self._file.write(work)

    def write_units(self, one: Copied) -> int:  # noqa: ARG002
        return 0

    def close(self) -> None:
        """It holds nothing of its own."""

    def _after(self, last_id: int) -> list[Copied]:
        def work(connection: sqlite3.Connection) -> list[Copied]:
            rows = connection.execute(NEXT_IDS, (last_id, PER_TRANSACTION)).fetchall()
            return _read(connection, [row[0] for row in rows])

        return self._file.read(work, snapshot=True)


def _read(connection: sqlite3.Connection, job_ids: Sequence[int]) -> list[Copied]:
    found = (steps.get_with_errors(connection, job_id) for job_id in job_ids)
    return [with_errors(*one) for one in found if one is not None]


def _put(connection: sqlite3.Connection, one: Copied) -> None:
    job, errors = one
    try:
        cursor = connection.execute(INSERT_WITH_ID, (job.id, *sql.insert_values(job)))
    except sqlite3.IntegrityError as error:
        raise ConfigError(
            f"another job of {job.producer_id} has the idempotency key of job {job.id}"
        ) from error
    if cursor.rowcount == 0:
        return
    # What is inserted is a new job; one update brings it to where it was.
    connection.execute(sql.UPDATE_JOB, sql.update_values(job, NEW_VERSION))
    connection.execute(sql.INSERT_PAYLOAD, (job.id, job.payload))
    if job.result is not None:
        connection.execute(sql.INSERT_RESULT, (job.id, job.result))
    texts = [(job.id, attempt, text) for attempt, text in errors.items()]
    connection.executemany(sql.INSERT_ERROR, texts)
