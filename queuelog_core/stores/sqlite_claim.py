"""The claim of the SQLite store: one look without a lock, then one transaction."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from queuelog_core.job import Job
from queuelog_core.stores import Taken, Transition
from queuelog_core.stores import sqlite_steps as steps

SETTLED_PER_TYPE = 16
SETTLED_MAX = 64


class Ask(NamedTuple):
    """What a claim asks for; `lanes` is the JSON list of its types."""

    instant: int
    lanes: str
    limit: int
    settle: Transition
    claim: Transition
    claim_key: bytes | None
    tell_next_due: bool


class Look(NamedTuple):
    """What there was to do before the lock was taken."""

    overdue: bool
    head: int | None


def look(connection: sqlite3.Connection, ask: Ask) -> Look | Taken:
    """The answer when it needs no write; else whether a lease ran out, and the best due job."""
    if known := _known_jobs(connection, ask):
        return _taken(connection, ask, known, replayed=True)
    seen = Look(*steps.peek(connection, ask.instant, ask.lanes))
    return seen if seen.overdue or seen.head is not None else _taken(connection, ask, [])


def take(connection: sqlite3.Connection, ask: Ask, seen: Look) -> Taken:
    """Settle some overdue leases and claim the best due jobs, in the caller's transaction."""
    # The same claim may have been answered between the look and the lock.
    if known := _known_jobs(connection, ask):
        return _taken(connection, ask, known, replayed=True)
    return _taken(connection, ask, _claim(connection, ask, seen))


def _known_jobs(connection: sqlite3.Connection, ask: Ask) -> Sequence[Job]:
    """The jobs that the same claim was given and that still run on that attempt."""
    if ask.claim_key is None:
        return []
    return steps.find_claimed(connection, ask.claim_key, ask.lanes)


def _taken(
    connection: sqlite3.Connection, ask: Ask, jobs: Sequence[Job], *, replayed: bool = False
) -> Taken:
    # Read here and not afterwards, when a busy store would turn claimed jobs into a 503.
    next_due_at = steps.next_due_at(connection, ask.lanes) if ask.tell_next_due else None
    return Taken(jobs, replayed, next_due_at)


def _claim(connection: sqlite3.Connection, ask: Ask, seen: Look) -> Sequence[Job]:

    def settle_some(most: int) -> int:
        return steps.settle(connection, ask.instant, ask.lanes, SETTLED_PER_TYPE, most, ask.settle)

    claimed: list[Job] = []
    settled = 0
    if seen.overdue:
        settled = settle_some(SETTLED_MAX)
    elif seen.head is not None and (job := steps.get_due(connection, seen.head, ask.instant)):
        # It was the best when this call looked, so the lanes need no second look.
        claimed.append(steps.write(connection, job, ask.claim(job))[0])
    while len(claimed) < ask.limit:
        best = steps.due_heads(connection, ask.instant, ask.lanes, ask.limit - len(claimed))
        claimed += [steps.apply(connection, job_id, ask.claim)[0] for job_id in best]
        if best:
            continue
        rest = SETTLED_MAX - settled if settled and not claimed else 0
        more = settle_some(rest) if rest else 0
        if not more:
            break
        settled += more
    return claimed
