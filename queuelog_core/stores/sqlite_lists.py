"""Lists on SQLite: one literal per leading filter and order, other filters on the rows read."""

import sqlite3
from collections.abc import Callable
from typing import Any

from queuelog_core.clock import INSTANT_MAX
from queuelog_core.job import Job, Status
from queuelog_core.stores import LOOKED_AT_MAX, PAGE_BYTES_MAX, Filter, Page, Position

_DEAD = (Status.FAILED, Status.CANCELLED)

ALL_DESC = """
SELECT id, created_at, type, priority, status, producer_id, worker_id
FROM jobs INDEXED BY jobs_created
WHERE (created_at, id) < (:created_at, :id) AND created_at >= :oldest
ORDER BY created_at DESC, id DESC LIMIT :most
"""
ALL_ASC = """
SELECT id, created_at, type, priority, status, producer_id, worker_id
FROM jobs INDEXED BY jobs_created
WHERE (created_at, id) > (:created_at, :id) AND created_at < :newest
ORDER BY created_at, id LIMIT :most
"""
PRODUCER_DESC = """
SELECT id, created_at, type, priority, status, producer_id, worker_id
FROM jobs INDEXED BY jobs_producer
WHERE producer_id = :producer AND (created_at, id) < (:created_at, :id) AND created_at >= :oldest
ORDER BY created_at DESC, id DESC LIMIT :most
"""
PRODUCER_ASC = """
SELECT id, created_at, type, priority, status, producer_id, worker_id
FROM jobs INDEXED BY jobs_producer
WHERE producer_id = :producer AND (created_at, id) > (:created_at, :id) AND created_at < :newest
ORDER BY created_at, id LIMIT :most
"""
DEAD_DESC = """
SELECT id, created_at, type, priority, status, producer_id, worker_id
FROM jobs INDEXED BY jobs_dead
WHERE status IN ('failed', 'cancelled')
  AND (created_at, id) < (:created_at, :id) AND created_at >= :oldest
ORDER BY created_at DESC, id DESC LIMIT :most
"""
DEAD_ASC = """
SELECT id, created_at, type, priority, status, producer_id, worker_id
FROM jobs INDEXED BY jobs_dead
WHERE status IN ('failed', 'cancelled')
  AND (created_at, id) > (:created_at, :id) AND created_at < :newest
ORDER BY created_at, id LIMIT :most
"""

STATEMENTS = {
    ("all", True): ALL_DESC,
    ("all", False): ALL_ASC,
    ("producer", True): PRODUCER_DESC,
    ("producer", False): PRODUCER_ASC,
    ("dead", True): DEAD_DESC,
    ("dead", False): DEAD_ASC,
}


def list_page(
    connection: sqlite3.Connection,
    where: Filter,
    limit: int,
    after: Position | None,
    get: Callable[[sqlite3.Connection, int], Job | None],
) -> Page:
    """One page; `get` reads the whole job for a row that passes the filter."""
    jobs: list[Job] = []
    looked_at = size = 0
    position = after
    cursor = connection.execute(
        STATEMENTS[_leading(where), where.newest_first], _bounds(where, after)
    )
    try:
        for row in cursor:
            if len(jobs) == limit or size >= PAGE_BYTES_MAX or looked_at == LOOKED_AT_MAX:
                return Page(jobs, position)
            looked_at += 1
            position = (row[1], row[0])
            job = get(connection, row[0]) if _passes(where, row) else None
            if job is not None:
                jobs.append(job)
                size += len(job.payload.encode()) + len((job.result or "").encode())
        return Page(jobs, None)
    finally:
        cursor.close()


def _leading(where: Filter) -> str:
    if where.producer_id is not None:
        return "producer"
    return "dead" if where.status in _DEAD else "all"


def _bounds(where: Filter, after: Position | None) -> dict[str, Any]:
    """Where the walk starts, and the instants between which jobs were created: [oldest, newest)."""
    oldest = where.created_after if where.created_after is not None else -INSTANT_MAX
    newest = where.created_before if where.created_before is not None else INSTANT_MAX
    if where.newest_first:
        start = min(after or (newest, 0), (newest, 0))
    else:
        start = max(after or (oldest, 0), (oldest, 0))
    return {
        "created_at": start[0],
        "id": start[1],
        "oldest": oldest,
        "newest": newest,
        "producer": where.producer_id,
        "most": LOOKED_AT_MAX + 1,
    }


def _passes(where: Filter, row: tuple[Any, ...]) -> bool:
    _, _, job_type, priority, status, producer_id, worker_id = row
    return (
        (where.types is None or job_type in where.types)
        and where.type in (None, job_type)
        and where.priority in (None, priority)
        and where.status in (None, status)
        and where.producer_id in (None, producer_id)
        and where.worker_id in (None, worker_id)
    )
