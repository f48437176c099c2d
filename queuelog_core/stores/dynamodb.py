"""The DynamoDB store: where one file no longer carries the load.

One table, two sparse indexes, no transactions, no scans, and nothing that must run beside it. Each
transition is one write under the condition that nobody came between.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from queuelog_core.clock import Clock
from queuelog_core.errors import Conflict, LateReport, StoreUnavailable
from queuelog_core.forks import begin_anew_in_children
from queuelog_core.job import TERMINAL, Job, Status
from queuelog_core.stores import Dead, Filter, Page, Position, Stats, Taken, Transition
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb_claim import Ask, Claims
from queuelog_core.stores.dynamodb_client import Client
from queuelog_core.stores.dynamodb_heads import Heads
from queuelog_core.stores.dynamodb_insert import Inserts
from queuelog_core.stores.dynamodb_jobs import Jobs
from queuelog_core.stores.dynamodb_lanes import Lanes
from queuelog_core.stores.dynamodb_lists import Lists
from queuelog_core.stores.dynamodb_plans import Given, Plans
from queuelog_core.stores.dynamodb_purge import Purges
from queuelog_core.stores.dynamodb_stats import COMPLETED, LATE, Tally, read_stats
from queuelog_core.stores.dynamodb_table import Key, Table
from queuelog_core.transitions import came_late

if TYPE_CHECKING:
    from queuelog_core.stores.dynamodb_copy import DynamoDBCopy

SETTLED_PER_LOOK = 100
PROBE: Key = ("W", "W")


class DynamoDBStore:
    """See queuelog_core.stores.Store."""

    def __init__(
        self,
        client: Client,
        table: str,
        shards: int = 1,
        *,
        probe: Client | None = None,
        ids: Clock | None = None,
        kept_days: int | None = None,
    ) -> None:
        """`kept_days`: how long finished jobs are kept; else DynamoDB deletes none by itself."""
        self._clients = client, probe or client
        self._kept_days = kept_days
        self._build = partial(self._build_on, table, shards, ids)
        self._build()
        begin_anew_in_children(self)

    def _build_on(self, table: str, shards: int, ids: Clock | None) -> None:
        self._table, self._probe = (Table(client, table) for client in self._clients)
        self._lanes = Lanes(self._table, shards)
        self._jobs = Jobs(self._table, self._lanes, self._kept_days)
        self._heads = Heads(self._jobs)
        self._inserts = Inserts(self._jobs, ids)
        self._claims = Claims(self._jobs, self._heads)
        self._plans = Plans(self._jobs, self._claims)
        self._lists = Lists(self._jobs)
        self._tally = Tally(self._jobs)
        self._purges = Purges(self._jobs, self._lists, self._tally)

    def begin_anew(self) -> None:
        """Leave the parent's connections and what it counted to the parent; its threads are gone
        and its locks may be held for ever."""
        for client in self._clients:
            client.abandon()
        self._build()

    def insert(self, job: Job) -> tuple[Job, bool]:
        return self.insert_many([job])[0]

    def insert_many(self, jobs: Sequence[Job]) -> list[tuple[Job, bool]]:
        return self._inserts.insert_many(jobs)

    def get(self, job_id: int) -> Job | None:
        found = self._jobs.read(job_id)
        return None if found is None else found[0].job

    def list(self, where: Filter, limit: int, after: Position | None) -> Page:
        return self._lists.page(where, limit, after)

    def get_with_errors(self, job_id: int) -> tuple[Job, Mapping[int, str]] | None:
        found = self._jobs.read(job_id)
        if found is None:
            return None
        (job, _), texts = found
        return job, items.errors_of(job, texts)

    def claim(
        self,
        now: int,
        types: Sequence[str],
        limit: int,
        settle: Transition,
        claim: Transition,
        claim_key: bytes | None = None,
        *,
        tell_next_due: bool = False,
    ) -> Taken:
        ask = Ask(now, types, limit, settle, claim)
        if claim_key is None:
            given = Given(self._claims.take(ask), False)
        else:
            given = self._plans.claim(ask, claim_key)
        jobs, lost = given.won
        next_due_at = self._next_due_after(jobs, now, types) if tell_next_due else None
        return Taken(jobs, given.replayed, next_due_at, lost)

    def update(self, job_id: int, transition: Transition) -> tuple[Job, bool] | None:
        seen: list[Job] = []

        def noted(job: Job) -> Job:
            seen.append(job)
            return transition(job)

        try:
            changed = self._jobs.change(job_id, noted)
        except LateReport:
            # A stale report changes no job; that it came is worth a number.
            self._tally.add(seen[-1].type, LATE)
            raise
        if changed is None:
            return None
        before, after = changed
        if after is not before:
            self._count(before, after)
        return after, after is not before

    def find_dead(self, where: Dead, limit: int) -> Sequence[int]:
        return self._lists.find_dead(where, limit)

    def update_many(self, job_ids: Sequence[int], transition: Transition) -> int:
        return sum(self._jobs.each(partial(self._try, transition=transition), job_ids))

    def next_due_at(self, types: Sequence[str]) -> int | None:
        return self._heads.next_due_at(types)

    def settle_overdue(self, now: int, limit: int, settle: Transition) -> int:
        settled = 0
        for lane in self._heads.running(self._lanes.types()):
            while settled < limit:
                most = min(SETTLED_PER_LOOK, limit - settled)
                (entries,) = self._heads.look([(lane, most)], now)
                done = self._claims.settle(entries, settle)
                settled += len(done)
                if not done:
                    break
        return settled

    def stats(self, now: int, types: Sequence[str] | None) -> Stats:
        return read_stats(self._jobs, self._tally, now, types)

    def purge(
        self,
        before: int,
        limit: int,
        statuses: Iterable[Status] = TERMINAL,
        *,
        to_the_end: bool = False,
    ) -> int:
        chosen = frozenset(statuses)
        return self._purges.purge(before, limit, chosen, to_the_end=to_the_end)

    def check_writable(self) -> None:
        self._probe.add(PROBE, {"n": 1})

    def copying(self) -> "DynamoDBCopy":
        # No function copies, so none is made to load it, or to carry it.
        from queuelog_core.stores.dynamodb_copy import DynamoDBCopy

        return DynamoDBCopy(self._clients[0], self._table.name, self._lanes.shards, self._kept_days)

    def flush(self) -> None:
        self._tally.write()

    def close(self) -> None:
        self._tally.write()
        self._jobs.close()
        self._probe.close()

    def _count(self, before: Job, after: Job) -> None:
        if after.status is Status.COMPLETED:
            self._tally.add(after.type, COMPLETED)
        if came_late(before, after):
            self._tally.add(after.type, LATE)

    def _try(self, job_id: int, transition: Transition) -> bool:
        """`update`, but a job that is gone or that does not allow it stays as it is."""
        try:
            changed = self._jobs.change(job_id, transition)
        except Conflict:
            return False
        return changed is not None and changed[0] is not changed[1]

    def _next_due_after(self, jobs: Sequence[Job], now: int, types: Sequence[str]) -> int | None:
        """Never a 503 in the place of jobs that are claimed, and never the word that all is done
        because the index does not show them yet."""
        ends = [job.lease_expires_at for job in jobs if job.lease_expires_at is not None]
        try:
            due_at = self._heads.next_due_at(types)
        except StoreUnavailable:
            if not jobs:
                raise
            due_at = now
        return min(filter(None, (due_at, *ends)), default=None)
