"""Copying from and to a DynamoDB table: several jobs at a time, each text before the job that names
it, and the idempotency key before the job, as when it was enqueued."""

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from queuelog_core.clock import SystemClock
from queuelog_core.errors import ConfigError, StoreBusy
from queuelog_core.job import TERMINAL, Job
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.copied import Copied, Running, Totals, with_errors
from queuelog_core.stores.dynamodb_client import Client, Item, Value
from queuelog_core.stores.dynamodb_insert import RANDOM_BITS, Ids
from queuelog_core.stores.dynamodb_jobs import GRACE_DAYS, Jobs
from queuelog_core.stores.dynamodb_lanes import Lanes
from queuelog_core.stores.dynamodb_lists import Lists, Walk
from queuelog_core.stores.dynamodb_stats import COMPLETED, LATE, Tally
from queuelog_core.stores.dynamodb_table import FIRST, LAST, LIST, WORK, Table

PER_STEP = 100
ALL = 1_000_000_000
TRIES = 13
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.05, 5.0
"""About half a minute in all."""
UNIT_BYTES = 1024
DIGITS_PER_BYTE = 2


class Patient(Client):
    """A client that waits, longer each time, while it is throttled; another one owns its
    connections."""

    def call(self, name: str, **request: Any) -> Any:
        """See Client."""
        for number in range(TRIES):
            try:
                return super().call(name, **request)
            except StoreBusy:
                if number == TRIES - 1:
                    raise
            longest = min(PAUSE_SECONDS_MAX, PAUSE_SECONDS * 2**number)
            time.sleep(random.uniform(longest / 2, longest))
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """They stay open."""


class DynamoDBCopy:
    """See queuelog_core.stores.copied.StoreCopy."""

    def __init__(self, client: Client, table: str, shards: int, kept_days: int | None) -> None:
        self._table = Table(Patient(client.open), table)
        self._lanes = Lanes(self._table, shards)
        self._jobs = Jobs(self._table, self._lanes, kept_days)
        self._lists = Lists(self._jobs)
        self._tally = Tally(self._jobs)
        self._clock = SystemClock()

    def count(self) -> int:
        lanes = self._lists.list_lanes()
        return sum(
            self._jobs.each(lambda lane: self._table.count(LIST, lane, FIRST, LAST, ALL), lanes)
        )

    def running(self) -> Running:
        lanes = [
            items.running_lane(name, shard)
            for name in self._lanes.types()
            for shard in range(self._lanes.most_shards())
        ]
        walk = self._lists.walk(Walk(WORK, lanes, FIRST, LAST))
        ends = [items.read_place(seen.place)[0] for seen in walk]
        return Running(len(ends), ends[0], ends[-1]) if ends else Running(0)

    def export(self) -> Iterator[Sequence[Copied]]:
        """In the order of creation."""
        walk = self._lists.walk(Walk(LIST, self._lists.list_lanes(), FIRST, LAST))
        while step := list(itertools.islice(walk, PER_STEP)):
            if some := list(self.read([seen.id for seen in step]).values()):
                yield some

    def read(self, job_ids: Sequence[int]) -> Mapping[int, Copied]:
        found = self._jobs.each(self._read, job_ids)
        return {one.job.id: one for one in found if one is not None}

    def put(self, many: Sequence[Copied]) -> None:
        for job_type in dict.fromkeys(one.job.type for one in many):
            self._lanes.announce(job_type)
        self._jobs.each(self._put, many)

    def totals(self) -> Totals:
        """The last id is the highest that anybody can have been given up to now."""
        counted = self._tally.read(self._lanes.types())
        late = {name: numbers[LATE] for name, numbers in counted.items() if numbers[LATE]}
        return Totals(Ids(self._clock)() | (1 << RANDOM_BITS) - 1, late, {})

    def put_totals(self, totals: Totals) -> None:
        """Ids that follow the clock are above all others by themselves."""
        for name in {*totals.late, *totals.completed}:
            self._lanes.announce(name)
            numbers = {COMPLETED: totals.completed.get(name, 0), LATE: totals.late.get(name, 0)}
            self._tally.replace(name, numbers)

    def write_units(self, one: Copied) -> int:
        item, beside = self._items_of(one)
        all_items = [item, *beside, *_key_item(one.job)]
        indexes = 2 if "qp" in item else 1
        return indexes + sum(-(-_size(each) // UNIT_BYTES) for each in all_items)

    def close(self) -> None:
        self._jobs.close()

    def _read(self, job_id: int) -> Copied | None:
        found = self._jobs.read(job_id)
        if found is None:
            return None
        (job, item), texts = found
        if job.status not in TERMINAL and item.get("pb", "") not in {"", *texts}:
            # With an empty payload it would run, where the next claim ends it.
            raise ConfigError(f"the payload of job {job_id} is lost: cancel the job first")
        return with_errors(job, items.errors_of(job, texts))

    def _put(self, one: Copied) -> None:
        item, beside = self._items_of(one)
        for text in beside:
            self._table.put(text)
        for key in _key_item(one.job):
            there = self._table.put_new(key)
            if there is not None and there["jid"] != one.job.id:
                raise ConfigError(
                    f"another job of {one.job.producer_id} has the idempotency key of job "
                    f"{one.job.id}"
                )
        self._table.put_new(item)

    def _items_of(self, one: Copied) -> tuple[Item, list[Item]]:
        """A job's own item, and the texts beside it."""
        job, errors = one
        item = items.encode_job(job, self._lanes.shards)
        beside = []
        for field in ("payload", "result"):
            text = getattr(job, field)
            if text is not None:
                attributes, apart = items.place_text(job.id, field, text)
                item |= attributes
                beside += [apart] if apart else []
        reports = {entry.attempt: entry.report for entry in job.history}
        for attempt, text in errors.items():
            key = items.error_key(attempt, reports.get(attempt, ""))
            beside.append({"pk": item["pk"], "sk": key, items.TEXT: text})
            if attempt == job.error_attempt:
                item["eb"] = key
        expires_at = self._jobs.expires_at(job, item)
        # What is past its retention already is for the upkeep: it would be gone at once.
        if expires_at is not None and expires_at > self._clock() // 1000 + GRACE_DAYS * 86_400:
            item[items.EXPIRES] = expires_at
        return item, beside


def _key_item(job: Job) -> list[Item]:
    return [] if job.idempotency_key is None else [items.idempotency_item(job)]


def _size(item: Item) -> int:
    """Bytes of an item as DynamoDB counts them, nearly."""
    return sum(len(name) + _size_of(value) for name, value in item.items())


def _size_of(value: Value) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else len(str(value)) // DIGITS_PER_BYTE + 1
