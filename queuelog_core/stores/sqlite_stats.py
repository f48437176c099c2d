"""Numbers on SQLite: kept counters, and counts along the lanes that stop at a thousand."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from queuelog_core.job import Priority, Status
from queuelog_core.stores import COUNTED_MAX, Count, Stats
from queuelog_core.stores.sqlite_rows import COUNTERS

COUNT_DUE = """
SELECT count(*), min(run_at) FROM (
    SELECT run_at FROM jobs INDEXED BY jobs_due
    WHERE status = 'pending' AND type = :type AND priority = :priority AND run_at <= :now
    ORDER BY run_at LIMIT :most)
"""
COUNT_DELAYED = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_due
    WHERE status = 'pending' AND type = :type AND priority = :priority AND run_at > :now
    LIMIT :most)
"""
COUNT_OVERDUE = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_lease
    WHERE status = 'running' AND type = :type AND lease_expires_at <= :now LIMIT :most)
"""


def read_stats(connection: sqlite3.Connection, now: int, types: Sequence[str] | None) -> Stats:
    """See queuelog_core.stores.Store.stats."""
    rows = connection.execute(COUNTERS).fetchall()
    kept = [(name, what, n) for name, what, n in rows if types is None or name in types]
    lanes = sorted({name for name, _, _ in kept})
    due, delayed, overdue, oldest = [], [], [], dict.fromkeys(Priority, None)
    for name in lanes:
        bounds: dict[str, Any] = {"type": name, "now": now, "most": COUNTED_MAX + 1}
        overdue.append(connection.execute(COUNT_OVERDUE, bounds).fetchone()[0])
        for priority in Priority:
            lane = bounds | {"priority": priority.value}
            number, first = connection.execute(COUNT_DUE, lane).fetchone()
            due.append(number)
            oldest[priority] = min(filter(None, (oldest[priority], first)), default=None)
            delayed.append(connection.execute(COUNT_DELAYED, lane).fetchone()[0])
    return Stats(
        exact=True,
        statuses=_statuses(kept),
        due=_count(due),
        delayed=_count(delayed),
        expired_leases=_count(overdue),
        oldest_due_at=oldest,
        late_reports=sum(n for _, what, n in kept if what == "late_reports"),
    )


def _statuses(kept: Iterable[tuple[str, str, int]]) -> dict[str, dict[Status, int]]:
    statuses: dict[str, dict[Status, int]] = {}
    for name, what, n in kept:
        if what != "late_reports":
            statuses.setdefault(name, {})[Status(what)] = n
    return statuses


def _count(lanes: list[int]) -> Count:
    """Each lane was counted to one more than the limit, which tells whether it has more."""
    return Count(
        sum(min(number, COUNTED_MAX) for number in lanes),
        any(number > COUNTED_MAX for number in lanes),
    )
