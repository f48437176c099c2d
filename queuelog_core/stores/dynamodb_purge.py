"""Purging on DynamoDB: a walk from the oldest jobs on, since no index knows when a job finished.

The key goes first, then the job if it is still as it was read, then its texts: whoever finds a key
finds its job, and an id is never given out again.
"""

from collections.abc import Collection
from itertools import islice

from queuelog_core.job import Job, Status
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Refused
from queuelog_core.stores.dynamodb_jobs import VERSION, Jobs, Stored
from queuelog_core.stores.dynamodb_lists import Lists, Walk
from queuelog_core.stores.dynamodb_stats import COMPLETED, Tally
from queuelog_core.stores.dynamodb_table import ITEMS, LIST

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

    def purge(self, before: int, limit: int, statuses: Collection[Status]) -> int:
        """See queuelog_core.stores.Store.purge. A call that met too many jobs that are not to go
        ends early, and the next one goes on there."""
        start = self._goes_on_at
        purged, left = self._part(before, limit, statuses, start, items.instant(before))
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
        kept_max: int = KEPT_MAX,
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
            found = self._jobs.read_bare((seen.id for seen in some), fresh=False).values()
            meant = [one for one in found if _is_meant(one.job, before, statuses)]
            gone = sum(self._jobs.each(self._delete, meant[: limit - purged]))
            purged += gone
            kept_max -= len(some) - gone
        return purged, kept_max

    def _delete(self, stored: Stored) -> bool:
        """Delete a job that is as it was read, and all that hangs on it."""
        job, item = stored
        key = items.idempotency_item(job) if job.idempotency_key is not None else None
        if key is not None:
            try:
                self._jobs.table.delete((str(key["pk"]), str(key["sk"])), {"jid": job.id})
            except Refused:
                key = None
        try:
            self._jobs.table.delete(items.job_key(job.id), {VERSION: job.version})
        except Refused as refused:
            if refused.item is not None and key is not None:
                # It was redriven this very moment, and needs its key again.
                self._jobs.table.put_new(key)
            if refused.item is not None or not refused.repeated:
                return False
        pk = str(item["pk"])
        texts = self._jobs.table.query(ITEMS, pk).items
        self._jobs.table.delete_many([(pk, str(text["sk"])) for text in texts])
        if job.status is Status.COMPLETED:
            self._tally.add(job.type, COMPLETED, -1)
        return True


def _is_meant(job: Job, before: int, statuses: Collection[Status]) -> bool:
    finished_at = job.finished_at
    return job.status in statuses and finished_at is not None and finished_at < before
