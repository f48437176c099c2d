"""Storing new jobs: one conditional put, and before it one more for an idempotency key.

The key's item names the id before the job is there. Whoever finds a key without its job finishes
what was begun, under the id that was written down: a key is never stuck, and makes one job.
"""

import contextlib
import random
import secrets
import threading
from collections.abc import Mapping, Sequence

from queuelog_core.clock import Clock, SystemClock, boot_seconds
from queuelog_core.errors import StoreBusy
from queuelog_core.job import Job
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Item, Refused, Value, number_in
from queuelog_core.stores.dynamodb_jobs import TRIES, Jobs
from queuelog_core.stores.dynamodb_table import Key

EPOCH = 1_577_836_800_000
"""2020-01-01 UTC: 41 bits of milliseconds after it last until 2089."""
RANDOM_BITS = 12
STALLED_SECONDS = 30.0
"""Whoever slept longer between the two puts of a key may be about to write a job of another age."""
INSERTED_BY = "en"


class Ids:
    """Ids below 2^53 in the order of time, ascending inside a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> int:
        fresh = (self._clock() - EPOCH) << RANDOM_BITS | random.getrandbits(RANDOM_BITS)
        with self._lock:
            self._last = max(fresh, self._last + 1)
            return self._last


class Inserts:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs, ids: Clock | None = None) -> None:
        self._jobs = jobs
        self._ids = ids or Ids(SystemClock())

    def insert_many(self, many: Sequence[Job]) -> list[tuple[Job, bool]]:
        """See queuelog_core.stores.Store.insert, for each."""
        for job_type in dict.fromkeys(job.type for job in many):
            self._jobs.lanes.announce(job_type)
        numbered = [job._replace(id=self._ids()) for job in many]
        # Jobs of one key come one after the other, the first of them first.
        turns: dict[object, list[Job]] = {}
        for job in numbered:
            named = job.idempotency_key is not None
            turns.setdefault(
                (job.producer_id, job.idempotency_key) if named else job.id, []
            ).append(job)
        answers = self._jobs.each(self._insert_in_turn, list(turns.values()))
        by_id = {job_id: answer for some in answers for job_id, answer in some.items()}
        return [by_id[job.id] for job in numbered]

    def _insert_in_turn(self, turn: Sequence[Job]) -> Mapping[int, tuple[Job, bool]]:
        return {job.id: self._insert(job) for job in turn}

    def _insert(self, job: Job) -> tuple[Job, bool]:
        nonce = secrets.token_bytes(8)
        begun_at = boot_seconds()
        for number in range(TRIES):
            named = self._id_of_key(job)
            mine = job._replace(id=named)
            if named != job.id:
                found = self._jobs.read(named)
                if found and _is_of(found[0].item, job):
                    return found[0].job, False
                if self._names_another(job, named):
                    # The job was purged meanwhile, and its id is never given out again.
                    continue
            if boot_seconds() - begun_at > STALLED_SECONDS:
                raise StoreBusy("an enqueue was held up between its two writes")
            there = self._put(mine, nonce)
            if there is None or there.get(INSERTED_BY) == nonce:
                return mine, True
            if not _is_of(there, mine):
                job = self._draw_again(mine)
            elif found := self._jobs.read(named):
                return found[0].job, False
            self._jobs.stand_back(number)
        raise StoreBusy("no free id was found")

    def _id_of_key(self, job: Job) -> int:
        """The id that the job's key names: the job's own, unless somebody was there before."""
        if job.idempotency_key is None:
            return job.id
        item = items.idempotency_item(job)
        known = None
        if not items.fits_inline(job.payload):
            # A repeat should not pay for a large payload, nor leave one behind.
            known = self._jobs.table.get(_key_of(item))
        there = known or self._jobs.table.put_new(item) or item
        return number_in(there, "jid")

    def _names_another(self, job: Job, named: int) -> bool:
        """Whether the job's key no longer names this id. A purge deletes a key before its job, so
        one that still names a job that was not there names one that is yet to come."""
        item = self._jobs.table.get(_key_of(items.idempotency_item(job)))
        return item is None or number_in(item, "jid") != named

    def _put(self, job: Job, nonce: bytes) -> Item | None:
        """Store a job unless its id is taken; then what is there."""
        texts = self._jobs.store_text(job.id, "payload", job.payload)
        item: dict[str, Value] = {
            **items.encode_job(job, self._jobs.lanes.shards),
            **texts,
            INSERTED_BY: nonce,
        }
        return self._jobs.table.put_new(item)

    def _draw_again(self, job: Job) -> Job:
        """Another id, since a job of somebody else has this one; the key names it from now on."""
        again = job._replace(id=self._ids())
        if job.idempotency_key is not None:
            key = _key_of(items.idempotency_item(job))
            # Others with this key may have drawn one before: the next look tells which.
            with contextlib.suppress(Refused):
                self._jobs.table.update(key, {"jid": again.id}, {"jid": job.id})
        return again


def _key_of(item: Item) -> Key:
    return str(item["pk"]), str(item["sk"])


def _is_of(there: Item, job: Job) -> bool:
    """Whether a job that is there was made by this producer with this key."""
    return (
        job.idempotency_key is not None
        and there.get("ik") == job.idempotency_key
        and there.get("pd") == job.producer_id
    )
