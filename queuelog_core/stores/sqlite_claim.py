"""The claim of the SQLite store: one look without a lock, then one transaction."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from queuelog_core.job import Job
from queuelog_core.stores import Transition
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


class Look(NamedTuple):
    """What a claim found before it took the lock: its own jobs, or what there is to do."""

    known: Sequence[Job]
    overdue: bool = False
    head: int | None = None


def look(connection: sqlite3.Connection, ask: Ask) -> Look:
    """What an idempotent claim got before, else whether a lease ran out, and the best due job."""
    known = known_jobs(connection, ask)
    return Look(known) if known else Look([], *steps.peek(connection, ask.instant, ask.lanes))


def known_jobs(connection: sqlite3.Connection, ask: Ask) -> Sequence[Job]:
    """The jobs that the same claim was given and that still run on that attempt."""
    if ask.claim_key is None:
        return []
    return steps.find_claimed(connection, ask.claim_key, ask.lanes)


def take(connection: sqlite3.Connection, ask: Ask, seen: Look) -> Sequence[Job]:
    """Settle some overdue leases, then claim the best due jobs."""

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
