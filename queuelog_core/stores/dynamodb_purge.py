"""Purging on DynamoDB: a walk from the oldest jobs on, since no index knows when a job finished.

The key goes first, then the job if it is still as it was read, then its texts: whoever finds a key
finds its job, and an id is never given out again.
"""

from collections.abc import Collection
from itertools import islice

from queuelog_core.job import Status
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_client import Refused
from queuelog_core.stores.dynamodb_jobs import VERSION, Jobs, Stored
from queuelog_core.stores.dynamodb_lists import Lists, Walk
from queuelog_core.stores.dynamodb_stats import COMPLETED, Tally
from queuelog_core.stores.dynamodb_table import ITEMS, LIST

LOOKED_AT_MAX = 20_000
PER_READ = 100


class Purges:
    """Safe for many threads. Raises what Table raises."""

    def __init__(self, jobs: Jobs, lists: Lists, tally: Tally) -> None:
        self._jobs = jobs
        self._lists = lists
        self._tally = tally
        self._goes_on_at = ""

    def purge(self, before: int, limit: int, statuses: Collection[Status]) -> int:
        """See queuelog_core.stores.Store.purge. A call looks at so many jobs at most, and the next
        one goes on there: old jobs that are not to go keep none from being found."""
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
        most: int = LOOKED_AT_MAX,
    ) -> tuple[int, int]:
        """Purge between two places; how many, and how many more jobs may be looked at."""
        way = Walk(LIST, self._lists.list_lanes(), low or items.instant(0), high)
        walk = islice(self._lists.walk(way), most)
        purged = 0
        while purged < limit:
            some = list(islice(walk, PER_READ))
            if not some:
                self._goes_on_at = "" if most else self._goes_on_at
                break
            found = self._jobs.read_bare(seen.id for seen in some)
            meant = [
                one
                for one in found.values()
                if one.job.status in statuses
                and one.job.finished_at is not None
                and one.job.finished_at < before
            ]
            meant = meant[: limit - purged]
            purged += sum(self._jobs.each(self._delete, meant))
            most -= len(some)
            # What was looked at and left over is looked at again, should the limit have cut it off.
            self._goes_on_at = some[0].place
        return purged, most

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
