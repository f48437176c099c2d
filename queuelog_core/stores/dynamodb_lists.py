"""Lists of the DynamoDB store: the shards of an index merged by creation, then the jobs themselves.

The index of all jobs tells type and producer, that of dead ones status and error code: what they
rule out is passed over without being read. Other filters read each job that they look at.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from queuelog_core.clock import INSTANT_MAX
from queuelog_core.job import Job, Status
from queuelog_core.stores import LOOKED_AT_MAX, PAGE_BYTES_MAX, Dead, Filter, Page, Position
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Item
from queuelog_core.stores.dynamodb_jobs import Jobs
from queuelog_core.stores.dynamodb_table import LIST, WORK, Index

PER_QUERY, PER_READ = 300, 25
DEAD = (Status.FAILED, Status.CANCELLED)


class Seen(NamedTuple):
    """An entry of an index, and where it stands."""

    place: str
    item: Item

    @property
    def id(self) -> int:
        return items.read_place(self.place)[1]


class Walk(NamedTuple):
    """Where a list goes: through which lanes, between which places, in which order."""

    source: Index
    lanes: Sequence[str]
    low: str
    high: str
    newest_first: bool = False
    per_query: int = PER_QUERY


class Lists:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def page(self, where: Filter, limit: int, after: Position | None) -> Page:
        """See queuelog_core.stores.Store.list."""
        walk = self.walk(self._way(where, limit, after))
        jobs: list[Job] = []
        looked_at = size = 0
        position = after
        ahead = next(walk, None)
        while ahead is not None:
            if len(jobs) == limit or looked_at == LOOKED_AT_MAX:
                return Page(jobs, position)
            some: list[Seen] = []
            while ahead is not None and looked_at < LOOKED_AT_MAX:
                looked_at += 1
                position = items.read_place(ahead.place)
                some += [ahead] if _may_pass(where, ahead.item) else []
                ahead = next(walk, None)
                if len(some) == min(limit - len(jobs), PER_READ):
                    break
            for job in self._read(where, some):
                jobs.append(job)
                size += len(job.payload.encode()) + len((job.result or "").encode())
                if size >= PAGE_BYTES_MAX:
                    is_last = ahead is None and job.id == some[-1].id
                    return Page(jobs, None if is_last else (job.created_at, job.id))
        return Page(jobs, None)

    def find_dead(self, where: Dead, limit: int) -> Sequence[int]:
        """See queuelog_core.stores.Store.find_dead."""
        after, before = where.created_after, where.created_before
        low = items.instant(0 if after is None else after)
        high = items.instant(INSTANT_MAX if before is None else before)
        types = self._jobs.lanes.types() if where.type is None else [where.type]
        found = (
            seen.id
            for seen in self.walk(Walk(WORK, self._dead_lanes(types), low, high))
            if where.status in (None, seen.item["st"])
            and where.error_code in (None, seen.item.get("ec"))
        )
        dead: list[int] = []
        while some := list(itertools.islice(found, limit - len(dead))):
            # The index does not tell which of them DynamoDB may delete by now.
            there = self._jobs.read_bare(some, fresh=False)
            dead += [job_id for job_id in some if job_id in there]
        return dead

    def walk(self, way: Walk) -> Iterator[Seen]:
        """All entries of the lanes in the order of creation."""
        lanes = [self._lane(way, lane) for lane in way.lanes]
        return heapq.merge(*lanes, key=lambda seen: seen.place, reverse=way.newest_first)

    def list_lanes(self) -> Sequence[str]:
        """The lanes that hold all jobs."""
        return [items.list_lane(shard) for shard in range(self._jobs.lanes.most_shards())]

    def _lane(self, way: Walk, lane: str) -> Iterator[Seen]:
        rest = None
        while True:
            found = self._jobs.table.query(
                way.source,
                lane,
                way.low,
                way.high,
                most=way.per_query,
                forward=not way.newest_first,
                rest=rest,
            )
            for item in found.items:
                yield Seen(str(item[way.source.sort]), item)
            rest = found.rest
            if rest is None:
                return

    def _way(self, where: Filter, limit: int, after: Position | None) -> Walk:
        oldest = where.created_after if where.created_after is not None else 0
        newest = where.created_before if where.created_before is not None else INSTANT_MAX
        low, high = items.instant(oldest), items.instant(newest)
        if after is not None and where.newest_first:
            high = min(high, items.before(*after))
        elif after is not None:
            low = max(low, items.place(*after) + "$")
        if where.status in DEAD:
            types = self._types(where)
            return Walk(WORK, self._dead_lanes(types), low, high, where.newest_first)
        narrow = where._replace(newest_first=True, created_after=None, created_before=None)
        per_query = limit + 1 if narrow == Filter() else PER_QUERY
        return Walk(LIST, self.list_lanes(), low, high, where.newest_first, per_query)

    def _types(self, where: Filter) -> Sequence[str]:
        types = self._jobs.lanes.types() if where.type is None else [where.type]
        return [name for name in types if where.types is None or name in where.types]

    def _dead_lanes(self, types: Sequence[str]) -> Sequence[str]:
        shards = range(self._jobs.lanes.most_shards())
        return [items.dead_lane(name, shard) for name in types for shard in shards]

    def _read(self, where: Filter, some: Sequence[Seen]) -> Iterator[Job]:
        """Those of these jobs that pass, as they are now, in the order given."""
        found = self._jobs.read_bare((seen.id for seen in some), fresh=False)
        passed = [
            found[seen.id]
            for seen in some
            if seen.id in found and _passes(where, found[seen.id].job)
        ]
        for seen, job in zip(passed, self._jobs.with_texts(passed), strict=True):
            if job is not None:
                yield job
            elif found_anew := self._jobs.read(seen.job.id):
                yield found_anew[0].job


def _may_pass(where: Filter, item: Item) -> bool:
    """Whether what the index tells does not rule a job out."""
    job_type, producer_id, status = (item.get(name) for name in ("ty", "pd", "st"))
    return (
        (job_type is None or where.type in (None, job_type))
        and (job_type is None or where.types is None or job_type in where.types)
        and (producer_id is None or where.producer_id in (None, producer_id))
        and (status is None or where.status in (None, status))
    )


def _passes(where: Filter, job: Job) -> bool:
    return (
        (where.types is None or job.type in where.types)
        and where.type in (None, job.type)
        and where.priority in (None, job.priority)
        and where.status in (None, job.status)
        and where.producer_id in (None, job.producer_id)
        and where.worker_id in (None, job.worker_id)
    )
