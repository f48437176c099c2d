"""Single steps on a connection, of which the SQLite store composes its transactions."""

import json
import sqlite3
from collections.abc import Sequence

from queuelog_core.clock import INSTANT_MAX
from queuelog_core.errors import Conflict
from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores import Dead, Transition
from queuelog_core.stores import sqlite_rows as sql
from queuelog_core.transitions import HISTORY_MAX

PRIORITIES_DOWN = sorted(Priority, reverse=True)


def purge(connection: sqlite3.Connection, most: int, status: Status, before: int) -> int:
    """Delete the jobs of one status that finished first; how many."""
    return connection.execute(sql.PURGE, (status.value, before, most)).rowcount


def any_finished(connection: sqlite3.Connection, status: Status, before: int) -> bool:
    """Whether there is anything to purge."""
    return connection.execute(sql.ANY_FINISHED, (status.value, before)).fetchone() is not None


def find_dead(connection: sqlite3.Connection, where: Dead, most: int) -> Sequence[int]:
    """Failed and cancelled jobs that a filter means, in the order of creation."""
    after, before = where.created_after, where.created_before
    bounds = where._asdict() | {
        "created_after": -INSTANT_MAX if after is None else after,
        "created_before": INSTANT_MAX if before is None else before,
        "most": most,
    }
    return [row[0] for row in connection.execute(sql.FIND_DEAD, bounds).fetchall()]


def get(connection: sqlite3.Connection, job_id: int) -> Job | None:
    """The whole job."""
    row = connection.execute(sql.GET_JOB, (job_id,)).fetchone()
    return None if row is None else sql.read_job(row)


def get_with_errors(
    connection: sqlite3.Connection, job_id: int
) -> tuple[Job, dict[int, str]] | None:
    """The whole job, and the texts of its failures by attempt."""
    job = get(connection, job_id)
    if job is None:
        return None
    return job, dict(connection.execute(sql.READ_ERRORS, (job_id,)).fetchall())


def next_due_at(connection: sqlite3.Connection, lanes: str) -> int | None:
    """When the first pending job of these types is due or the first lease ends."""
    row: tuple[int | None] = connection.execute(sql.NEXT_DUE, {"types": lanes}).fetchone()
    return row[0]


def get_due(connection: sqlite3.Connection, job_id: int, now: int) -> Job | None:
    """The job if it may be claimed now."""
    job = get(connection, job_id)
    return job if job and job.status is Status.PENDING and job.run_at <= now else None


def find(connection: sqlite3.Connection, job: Job) -> Job | None:
    """The job that this producer made with this key before."""
    if job.idempotency_key is None:
        return None
    row = connection.execute(sql.FIND_KEY, (job.producer_id, job.idempotency_key)).fetchone()
    return None if row is None else get(connection, row[0])


def find_claimed(connection: sqlite3.Connection, claim_key: bytes, lanes: str) -> list[Job]:
    """The jobs of these types that still run under an idempotent claim."""
    rows = connection.execute(sql.FIND_CLAIMED, (claim_key, lanes)).fetchall()
    return [job for row in rows if (job := get(connection, row[0]))]


def insert(connection: sqlite3.Connection, job: Job) -> tuple[Job, bool]:
    """Store a new job, or find the one that its key names and say False."""
    cursor = connection.execute(sql.INSERT_JOB, sql.insert_values(job))
    if cursor.rowcount == 0:
        # Somebody was faster with the same key, between the look and the lock.
        known = find(connection, job)
        assert known is not None
        return known, False
    job_id = cursor.lastrowid
    assert job_id is not None
    connection.execute(sql.INSERT_PAYLOAD, (job_id, job.payload))
    return job._replace(id=job_id), True


def overdue(
    connection: sqlite3.Connection, now: int, lanes: str, per_type: int, most: int
) -> Sequence[int]:
    """Jobs whose lease ran out, of each type the oldest ones."""
    bounds = {"types": lanes, "now": now, "per_type": per_type, "most": most}
    return [row[0] for row in connection.execute(sql.OVERDUE, bounds).fetchall()]


def settle(
    connection: sqlite3.Connection,
    now: int,
    lanes: str,
    per_type: int,
    most: int,
    settle: Transition,
) -> int:
    """Settle overdue leases, `per_type` of each type and `most` in all; how many."""
    job_ids = overdue(connection, now, lanes, per_type, most)
    for job_id in job_ids:
        apply(connection, job_id, settle)
    return len(job_ids)


def peek(connection: sqlite3.Connection, now: int, lanes: str) -> tuple[bool, int | None]:
    """Whether a lease of these types ran out, and the best due job, in one statement."""
    row: tuple[int, int | None] = connection.execute(
        sql.PEEK, {"types": lanes, "now": now}
    ).fetchone()
    return bool(row[0]), row[1]


def due_heads(connection: sqlite3.Connection, now: int, lanes: str, most: int) -> Sequence[int]:
    """The best due jobs of these lanes in order, from critical down; `most` of one priority."""
    for priority in PRIORITIES_DOWN:
        bounds = {"types": lanes, "priority": priority.value, "now": now, "most": most}
        rows = connection.execute(sql.DUE_HEADS, bounds).fetchall()
        if rows:
            return [row[0] for row in rows]
    return []


def all_types(connection: sqlite3.Connection) -> str:
    """Every type that ever had a job, also one that has left the registry."""
    return json.dumps(sorted({row[0] for row in connection.execute(sql.COUNTERS).fetchall()}))


def apply(connection: sqlite3.Connection, job_id: int, transition: Transition) -> tuple[Job, bool]:
    """Read, decide, write: the job as it is then, and whether it changed."""
    before = get(connection, job_id)
    assert before is not None
    return write(connection, before, transition(before))


def try_to_apply(connection: sqlite3.Connection, job_id: int, transition: Transition) -> bool:
    """`apply`, but a job that is gone or that does not allow it stays as it is; if it changed."""
    before = get(connection, job_id)
    try:
        return before is not None and write(connection, before, transition(before))[1]
    except Conflict:
        return False


def write(connection: sqlite3.Connection, before: Job, after: Job) -> tuple[Job, bool]:
    """Replace one state of a job by the next; texts go to their own tables, once."""
    if after is before:
        return before, False
    cursor = connection.execute(sql.UPDATE_JOB, sql.update_values(after, before.version))
    # Read and write share one transaction, so only a fault of ours could have changed the version.
    assert cursor.rowcount == 1
    if after.result is not None and after.result != before.result:
        connection.execute(sql.INSERT_RESULT, (after.id, after.result))
    if after.error_attempt is not None and after.error_attempt != before.error_attempt:
        connection.execute(sql.INSERT_ERROR, (after.id, after.error_attempt, after.error))
        if after.attempt > HISTORY_MAX:
            connection.execute(sql.DELETE_OLD_ERRORS, (after.id, after.history[0].attempt))
    return after, True
