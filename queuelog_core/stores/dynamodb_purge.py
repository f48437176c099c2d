"""Purging on DynamoDB: a walk from the oldest jobs on, since no index knows when a job finished.

The key goes first, then the job if it is still as it was read: whoever finds a key finds its job,
and an id is never given out again. A job with texts is hidden first, and goes when they have gone:
of one whose purge was cut off the next call finds what is left.
"""

import contextlib
import sys
from collections.abc import Collection
from itertools import islice

from queuelog_core.job import Job, Status
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Item, Refused
from queuelog_core.stores.dynamodb_jobs import LEAVING, VERSION, Jobs, Stored, is_leaving
from queuelog_core.stores.dynamodb_lists import Lists, Walk
from queuelog_core.stores.dynamodb_stats import COMPLETED, Tally
from queuelog_core.stores.dynamodb_table import ITEMS, LIST, Key

KEPT_MAX = 2_000
"""Old jobs that are not to go cost a read each, every few seconds: a call looks at no more."""
PER_READ = 100


class Purges:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs, lists: Lists, tally: Tally) -> None:
        self._jobs = jobs
        self._lists = lists
        self._tally = tally
        self._goes_on_at = ""

    def purge(
        self, before: int, limit: int, statuses: Collection[Status], *, to_the_end: bool
    ) -> int:
        """See queuelog_core.stores.Store.purge. A call that met too many jobs that are not to go
        ends early, and the next one goes on there."""
        start = self._goes_on_at
        kept_max = sys.maxsize if to_the_end else KEPT_MAX
        end = items.instant(before)
        purged, left = self._part(before, limit, statuses, start, end, kept_max)
        if start and left > 0 and purged < limit:
            more, _ = self._part(before, limit - purged, statuses, "", start, left)
            purged += more
        return purged

    def _part(
        self,
        before: int,
        limit: int,
        statuses: Collection[Status],
        low: str,
        high: str,
        kept_max: int,
    ) -> tuple[int, int]:
        """Purge between two places; how many, and how many more jobs may be met in vain."""
        way = Walk(LIST, self._lists.list_lanes(), low or items.instant(0), high)
        walk = self._lists.walk(way)
        purged = 0
        while purged < limit and kept_max > 0:
            some = list(islice(walk, PER_READ))
            if not some:
                self._goes_on_at = ""
                break
            # What the limit cuts off, or what comes too late, is looked at again by the next call.
            self._goes_on_at = some[0].place
            ids = (seen.id for seen in some)
            found = self._jobs.read_bare(ids, fresh=False, leaving=True).values()
            meant = [one for one in found if _is_meant(one, before, statuses)]
            gone = sum(self._jobs.each(self._delete, meant[: limit - purged]))
            purged += gone
            kept_max -= len(some) - gone
        return purged, kept_max

    def _delete(self, stored: Stored) -> bool:
        """Delete a job that is as it was read, and all that hangs on it."""
        job, item = stored
        beside = self._beside(str(item["pk"]))
        if is_leaving(item):
            self._delete_with(stored, beside)
            return True
        key = self._forget_key(job)
        try:
            if beside:
                leaving = {items.EXPIRES: LEAVING, VERSION: job.version + 1}
                self._jobs.table.update(items.job_key(job.id), leaving, {VERSION: job.version})
            else:
                self._jobs.table.delete(items.job_key(job.id), {VERSION: job.version})
        except Refused as refused:
            there = refused.item
            if there is not None and not is_leaving(there) and key is not None:
                # It was redriven this very moment, and needs its key again.
                self._jobs.table.put_new(key)
            if not (is_leaving(there) if there is not None else refused.repeated):
                return False
        if job.status is Status.COMPLETED:
            self._tally.add(job.type, COMPLETED, -1)
        if beside:
            self._delete_with(stored, beside)
        return True

    def _forget_key(self, job: Job) -> Item | None:
        """Delete a job's idempotency key if it names the job; what it was then."""
        if job.idempotency_key is None:
            return None
        key = items.idempotency_item(job)
        try:
            self._jobs.table.delete((str(key["pk"]), str(key["sk"])), {"jid": job.id})
        except Refused:
            return None
        return key

    def _beside(self, pk: str) -> list[Key]:
        """Keys of the texts in a job's partition, or of the first mebibyte of them."""
        found = self._jobs.table.query(ITEMS, pk).items
        return [(pk, str(one["sk"])) for one in found if items.TEXT in one]

    def _delete_with(self, stored: Stored, beside: list[Key]) -> None:
        """Delete a hidden job after its texts."""
        while beside:
            self._jobs.table.delete_many(beside)
            beside = self._beside(str(stored.item["pk"]))
        with contextlib.suppress(Refused):
            self._jobs.table.delete(items.job_key(stored.job.id), {items.EXPIRES: LEAVING})


def _is_meant(stored: Stored, before: int, statuses: Collection[Status]) -> bool:
    finished_at = stored.job.finished_at
    asked = stored.job.status in statuses and finished_at is not None and finished_at < before
    return asked or is_leaving(stored.item)
