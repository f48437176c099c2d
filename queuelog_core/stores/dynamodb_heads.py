"""Where the work is: the beginnings of the lanes, as the index shows them, which may lag behind.

What this process has taken or lost is remembered by id and version, so that an entry that lags is
not tried twice. A version never comes back; a place in a lane does, by a retry without a delay.
"""

import itertools
import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from queuelog_core.clock import INSTANT_MAX
from queuelog_core.job import Priority
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Item, number_in
from queuelog_core.stores.dynamodb_jobs import Jobs, Stored
from queuelog_core.stores.dynamodb_table import WORK

SPENT_MAX = 4096
SPENT_PAGES_MAX = 4
"""A lane whose page holds nothing but what is gone is read on, this many pages."""
FIRST_FEW = 20
"""Billed as one entry is: they may all be gone where the index lags behind."""


class Entry(NamedTuple):
    """A job as the index shows it: pending or running, due or ending at an instant. `stored`: the
    job itself, where it has just been written."""

    at: int
    id: int
    version: int
    type: str
    priority: int
    stored: Stored | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """Ascending in the order of claims."""
        return -self.priority, self.at, self.id


class Lane(NamedTuple):
    """One partition of the index."""

    partition: str
    type: str
    priority: int


class Heads:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._lock = threading.Lock()
        self._spent: dict[tuple[int, int], None] = {}

    def pending(self, types: Sequence[str]) -> list[Lane]:
        """The lanes of pending jobs of these types."""
        return [
            Lane(items.pending_lane(name, priority, shard), name, priority)
            for name in types
            for priority in Priority
            for shard in range(self._jobs.lanes.most_shards())
        ]

    def running(self, types: Sequence[str]) -> list[Lane]:
        """The lanes of running jobs of these types."""
        return [
            Lane(items.running_lane(name, shard), name, 0)
            for name in types
            for shard in range(self._jobs.lanes.most_shards())
        ]

    def look(self, lanes: Sequence[tuple[Lane, int]], now: int) -> list[list[Entry]]:
        """The first entries of each lane up to an instant; how many, stands beside the lane."""
        return self._jobs.each(lambda wanted: self._look(*wanted, now), lanes)

    def spend(self, entries: Iterable[Entry]) -> None:
        """Never offer these again: what they showed is over."""
        with self._lock:
            for entry in entries:
                self._spent[entry.id, entry.version] = None
            for old in list(itertools.islice(self._spent, max(0, len(self._spent) - SPENT_MAX))):
                del self._spent[old]

    def next_due_at(self, types: Sequence[str]) -> int | None:
        """The earliest instant at which a pending job is due or a lease ends."""
        lanes = [*self.pending(types), *self.running(types)]
        seen = self.look([(lane, FIRST_FEW) for lane in lanes], INSTANT_MAX)
        return min((entries[0].at for entries in seen if entries), default=None)

    def _look(self, lane: Lane, most: int, now: int) -> list[Entry]:
        rest = None
        for _ in range(SPENT_PAGES_MAX):
            high = items.after(now)
            found = self._jobs.table.query(WORK, lane.partition, high=high, most=most, rest=rest)
            seen = [_read(item, lane) for item in found.items]
            live = [entry for entry in seen if (entry.id, entry.version) not in self._spent]
            if live or found.rest is None:
                return live
            rest = found.rest
        return []


def _read(item: Item, lane: Lane) -> Entry:
    at, job_id = items.read_place(str(item["qs"]))
    return Entry(at, job_id, number_in(item, "v"), lane.type, lane.priority)
