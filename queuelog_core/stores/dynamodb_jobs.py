"""Jobs of the DynamoDB store: read whole or without texts, and replaced if nobody came between.

A transition is written under the condition that the version is still the one that was read. Texts
are written first and deleted last, so that no job ever names a text that is not there.
"""

import random
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from queuelog_core.clock import Clock, SystemClock
from queuelog_core.errors import StoreBusy
from queuelog_core.job import Job, Outcome, Status
from queuelog_core.stores import Transition
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores import dynamodb_texts as texts
from queuelog_core.stores.dynamodb_client import Item, Refused, Value, number_in
from queuelog_core.stores.dynamodb_lanes import Lanes
from queuelog_core.stores.dynamodb_table import ITEMS, Key, Table
from queuelog_core.transitions import HISTORY_MAX

ANSWERED_BY, CLAIMED_BY, VERSION = "wn", "cn", "v"
"""Nonces of the newest write and of the newest claim, by which a write sent twice finds its own."""
LEAVING = 1
"""An expiry long past: hidden, and too old for DynamoDB, which looks back five years, to delete."""
GRACE_DAYS = 7
"""The upkeep deletes what is past its retention; where none runs, DynamoDB does so in the end."""
TRIES = 12
THREADS = 8
_PAUSE_SECONDS = 0.01
A = TypeVar("A")
B = TypeVar("B")


class Stored(NamedTuple):
    """A job and the item that it was read from. Its texts may have been left out."""

    job: Job
    item: Item


class Jobs:
    """Safe for many threads. Raises what Table raises."""

    def __init__(
        self,
        table: Table,
        lanes: Lanes,
        kept_days: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.table = table
        self.lanes = lanes
        self._kept_seconds = None if kept_days is None else (kept_days + GRACE_DAYS) * 86_400
        self._clock = clock or SystemClock()
        self._pool = ThreadPoolExecutor(THREADS, "dynamodb")
        self._lock = threading.Lock()

    def each(self, work: Callable[[A], B], many: Sequence[A]) -> list[B]:
        """What `work` returns for each of them, several at a time."""
        if len(many) < 2:
            return [work(one) for one in many]
        with self._lock:
            begun = [self._pool.submit(work, one) for one in many]
        return [one.result() for one in begun]

    def read(self, job_id: int) -> tuple[Stored, Mapping[str, str]] | None:
        """The whole job as it is now, and all texts beside it by sort key."""
        pk, sk = items.job_key(job_id)
        found = list(self.table.query(ITEMS, pk).items)
        item = next((item for item in found if item["sk"] == sk), None)
        if item is None or not self._is_there(item):
            return None
        found_texts = texts.texts_in(found)
        if not found_texts.keys() >= set(items.beside(item)):
            # Purged while it was read; or off the page, which is a mebibyte, behind those of
            # enqueues that were cut off. Else they are lost.
            item = self.table.get((pk, sk))
            if item is None or not self._is_there(item):
                return None
            found_texts |= self.texts_of([item])[pk]
        return Stored(texts.decode_lost(item, found_texts), item), found_texts

    def read_bare(
        self, job_ids: Iterable[int], *, fresh: bool = True, leaving: bool = False
    ) -> dict[int, Stored]:
        """Those of these jobs that exist, without the texts beside them. `leaving`: also those of
        which a purge that was cut off has left something."""
        keys = [items.job_key(job_id) for job_id in dict.fromkeys(job_ids)]
        found = self.table.get_many(keys, fresh=fresh).values()
        seen = [one for one in found if self._is_there(one) or (leaving and is_leaving(one))]
        return {items.id_of(item): Stored(texts.decode_bare(item), item) for item in seen}

    def texts_of(self, many: Sequence[Item]) -> defaultdict[str, dict[str, str]]:
        """The texts that jobs' own items name: by partition, then by sort key."""
        keys: list[Key] = [(str(item["pk"]), sk) for item in many for sk in items.beside(item)]
        found = self.table.get_many(keys) if keys else {}
        told: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for (pk, sk), item in found.items():
            told[pk][sk] = str(item[items.TEXT])
        return told

    def with_texts(self, many: Sequence[Stored]) -> list[Job | None]:
        """The whole jobs; None for one that was purged meanwhile, or whose payload is lost."""
        told = self.texts_of([one.item for one in many])
        return [texts.decode_whole(one.item, told[str(one.item["pk"])]) for one in many]

    def write(self, before: Stored, after: Job) -> Stored | None:
        """Replace one state of a job by the next; None when somebody was faster."""
        self.lanes.announce_shards()
        item = self._next_item(before, after)
        nonce = secrets.token_bytes(8)
        item[ANSWERED_BY] = nonce
        if after.attempt > before.job.attempt:
            item[CLAIMED_BY] = nonce
        changes: dict[str, Value | None] = {
            name: item.get(name)
            for name in {*item, *before.item}
            if item.get(name) != before.item.get(name)
        }
        key = items.job_key(after.id)
        try:
            self.table.update(key, changes, {VERSION: before.job.version})
        except Refused as refused:
            return self._own(key, refused, nonce, after)
        return Stored(after, item)

    def change(self, job_id: int, transition: Transition) -> tuple[Job, Job] | None:
        """Read, decide, write: the job before and after. Raises what the transition raises."""
        for number in range(TRIES):
            found = self.read(job_id)
            if found is None:
                return None
            before = found[0]
            after = transition(before.job)
            if after is before.job:
                return after, after
            if written := self.write(before, after):
                return before.job, written.job
            self.stand_back(number)
        raise StoreBusy(f"job {job_id} is changed by others all the time")

    def store_text(self, job_id: int, field: str, text: str) -> Mapping[str, Value]:
        """Put a text where it belongs; the attributes of the job's own item that tell where."""
        attributes, item = items.place_text(job_id, field, text)
        if item is not None:
            self.table.put(item)
        return attributes

    def expires_at(self, job: Job, item: Item) -> int | None:
        """When DynamoDB may delete a job by itself, in seconds since 1970; None: never."""
        if not (self._kept_seconds and job.finished_at and _stands_alone(job, item)):
            return None
        return job.finished_at // 1000 + self._kept_seconds

    def stand_back(self, number: int) -> None:
        """Wait a little, longer each time, so that those who meet here part."""
        time.sleep(random.uniform(0, _PAUSE_SECONDS * (number + 1)))

    def close(self) -> None:
        """Give back threads and connections; the next call makes new ones."""
        with self._lock:
            pool, self._pool = self._pool, ThreadPoolExecutor(THREADS, "dynamodb")
        pool.shutdown()
        self.table.close()

    def _is_there(self, item: Item) -> bool:
        """Not when DynamoDB may delete it: it takes days to do so."""
        return items.EXPIRES not in item or number_in(item, items.EXPIRES) > self._clock() // 1000

    def _next_item(self, before: Stored, after: Job) -> dict[str, Value]:
        """The item of the next state; its new texts are stored beside it."""
        job, old = before
        # What this version does not know was written by a newer one, and stays.
        kept = {name: value for name, value in old.items() if name not in items.REWRITTEN}
        item = {**items.encode_job(after, self.lanes.shards), **kept}
        item |= {name: old[name] for name in ("lp", "ls")}
        if after.result is not None and after.result != job.result:
            item |= self.store_text(after.id, "result", after.result)
        if after.error_attempt is None:
            item.pop("eb", None)
        elif after.error_attempt != job.error_attempt:
            item |= self._store_error(after)
        if (expires_at := self.expires_at(after, item)) is not None:
            item[items.EXPIRES] = expires_at
        return item

    def _store_error(self, job: Job) -> Mapping[str, Value]:
        item = items.error_item(job)
        self.table.put(item)
        if job.attempt > HISTORY_MAX:
            oldest = items.error_key(job.history[0].attempt, "")
            old = self.table.query(ITEMS, str(item["pk"]), "E#", oldest).items
            self.table.delete_many([(str(one["pk"]), str(one["sk"])) for one in old])
        return {"eb": item["sk"]}

    def _own(self, key: Key, refused: Refused, nonce: bytes, after: Job) -> Stored | None:
        """The job when the write that was refused had come through before (B59)."""
        there = refused.item
        if there is None and refused.repeated:
            there = self.table.get(key)
        if there is None or nonce not in (there.get(ANSWERED_BY), there.get(CLAIMED_BY)):
            return None
        if there[ANSWERED_BY] == nonce:
            return Stored(after, there)
        # The claim came through, and somebody has changed the job since: asked to cancel it, say.
        job = texts.decode_bare(there)
        holds = job.status is Status.RUNNING and job.attempt == after.attempt
        return Stored(job, there) if holds else None


def is_leaving(item: Item) -> bool:
    """Whether a purge has begun to delete a job."""
    return item.get(items.EXPIRES) == LEAVING


def _stands_alone(job: Job, item: Item) -> bool:
    """Whether nothing is left behind when DynamoDB deletes the item: no key, no text beside it."""
    failed = any(entry.outcome is Outcome.FAILED for entry in job.history)
    told = failed or job.attempt > HISTORY_MAX or items.beside(item)
    return job.idempotency_key is None and not told
