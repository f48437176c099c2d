"""Numbers of the DynamoDB store: unfinished and dead jobs counted along their lanes, the completed
ones and the late reports added up as they come.

An exact counter would cost each job two more writes, all of them to one hot item. So every process
adds up its own and writes the sums once a second, a function before it is frozen; what a process
held when it was killed is not counted.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from queuelog_core.clock import monotonic_seconds
from queuelog_core.errors import StoreUnavailable
from queuelog_core.job import Priority, Status
from queuelog_core.stores import COUNTED_MAX, Count, Stats
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import number_in
from queuelog_core.stores.dynamodb_jobs import Jobs
from queuelog_core.stores.dynamodb_table import FIRST, LAST, WORK, Key

COMPLETED, LATE = "completed", "late"
WRITE_EVERY_SECONDS = 1.0
LANE_MAX = 10_000
"""Entries of a lane that are counted: about 250 read units."""


class _Lane(NamedTuple):
    """What was counted in one partition: up to now and after it."""

    past: int
    to_come: int
    first_at: int | None = None


class Tally:
    """What this process has counted and not yet written. Safe for many threads."""

    def __init__(self, jobs: Jobs, monotonic: Callable[[], float] = monotonic_seconds) -> None:
        self._jobs = jobs
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._held: dict[str, Counter[str]] = {}
        self._write_at = float("-inf")

    def add(self, job_type: str, what: str, number: int = 1) -> None:
        """Count something; what went before is written when a second has gone by."""
        with self._lock:
            self._held.setdefault(job_type, Counter())[what] += number
            due = self._monotonic() >= self._write_at
        if due:
            self.write()

    def write(self) -> None:
        """Write what is held. What cannot be written is held on to; no caller is told."""
        with self._lock:
            held, self._held = self._held, {}
            self._write_at = self._monotonic() + WRITE_EVERY_SECONDS
        for job_type, numbers in held.items():
            changed = {what: number for what, number in numbers.items() if number}
            try:
                if changed:
                    self._jobs.table.add(_key(job_type), changed)
            except StoreUnavailable:
                with self._lock:
                    self._held.setdefault(job_type, Counter()).update(numbers)

    def replace(self, job_type: str, numbers: Mapping[str, int]) -> None:
        """Put numbers in the place of what anybody has counted for a type."""
        pk, sk = _key(job_type)
        self._jobs.table.put({"pk": pk, "sk": sk, **numbers})

    def read(self, types: Sequence[str]) -> dict[str, Counter[str]]:
        """What has been counted for these types."""
        found = self._jobs.table.get_many([_key(name) for name in types])
        with self._lock:
            held = {name: Counter(self._held.get(name, {})) for name in types}
        for name in types:
            item = found.get(_key(name), {})
            held[name].update({what: number_in(item, what) for what in (COMPLETED, LATE)})
        return held


def read_stats(jobs: Jobs, tally: Tally, now: int, types: Sequence[str] | None) -> Stats:
    """See queuelog_core.stores.Store.stats."""
    known = jobs.lanes.types()
    names = known if types is None else [name for name in known if name in types]
    shards = jobs.lanes.most_shards()
    pending = [
        (name, level, shard) for name in names for level in Priority for shard in range(shards)
    ]
    others = [(name, shard) for name in names for shard in range(shards)]
    waiting = jobs.each(lambda lane: _count_pending(jobs, items.pending_lane(*lane), now), pending)
    running = jobs.each(lambda lane: _count(jobs, items.running_lane(*lane), now), others)
    dead = jobs.each(lambda lane: _count_dead(jobs, items.dead_lane(*lane)), others)
    counted = tally.read(names)
    statuses: dict[str, Counter[Status]] = {
        name: Counter({Status.COMPLETED: max(0, counted[name][COMPLETED])}) for name in names
    }
    oldest: dict[Priority, int | None] = dict.fromkeys(Priority)
    for (name, level, _), lane in zip(pending, waiting, strict=True):
        statuses[name][Status.PENDING] += lane.past + lane.to_come
        oldest[level] = min(filter(None, (oldest[level], lane.first_at)), default=None)
    for (name, _), lane, ended in zip(others, running, dead, strict=True):
        statuses[name][Status.RUNNING] += lane.past + lane.to_come
        statuses[name].update(ended)
    return Stats(
        exact=False,
        statuses={name: +numbers for name, numbers in statuses.items()},
        due=_capped([lane.past for lane in waiting]),
        delayed=_capped([lane.to_come for lane in waiting]),
        expired_leases=_capped([lane.past for lane in running]),
        oldest_due_at=oldest,
        late_reports=sum(numbers[LATE] for numbers in counted.values()),
    )


def _count_pending(jobs: Jobs, lane: str, now: int) -> _Lane:
    first = jobs.table.query(WORK, lane, high=items.after(now), most=1).items
    counted = _count(jobs, lane, now)
    return counted._replace(first_at=items.read_place(str(first[0]["qs"]))[0] if first else None)


def _count(jobs: Jobs, lane: str, now: int) -> _Lane:
    bound = items.after(now)
    past = jobs.table.count(WORK, lane, FIRST, bound, LANE_MAX)
    return _Lane(past, jobs.table.count(WORK, lane, bound, LAST, LANE_MAX))


def _count_dead(jobs: Jobs, lane: str) -> Counter[Status]:
    """Failed and cancelled jobs, the newest of them when there are too many to be counted."""
    counted: Counter[Status] = Counter()
    rest = None
    while counted.total() < LANE_MAX:
        found = jobs.table.query(WORK, lane, most=LANE_MAX, forward=False, rest=rest)
        counted.update(Status(str(item["st"])) for item in found.items)
        rest = found.rest
        if rest is None:
            break
    return counted


def _capped(lanes: Sequence[int]) -> Count:
    return Count(
        sum(min(number, COUNTED_MAX) for number in lanes),
        any(number > COUNTED_MAX for number in lanes),
    )


def _key(job_type: str) -> Key:
    return f"S#{job_type}", "S"
