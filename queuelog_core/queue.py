"""The use cases: what a caller may do, decided before a store is asked. The only caller of stores,
together with `leases`, the side of it that workers use.

Allowlist, caps, visibility and ownership live here; transitions decide what happens to a job, and
the store applies them.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from queuelog_core import transitions
from queuelog_core.clock import Clock
from queuelog_core.errors import (
    IdempotencyKeyReused,
    NotFound,
    QueuelogError,
    invalid,
    no_such_state,
)
from queuelog_core.identity import Identity, Role, may_see
from queuelog_core.job import TERMINAL, Job, Status
from queuelog_core.job_types import JobTypes
from queuelog_core.leases import Leases, Move, Reported, update_visible
from queuelog_core.new_job import NewJob, admit
from queuelog_core.stores import Dead, Filter, Page, Position, Stats, Store


class Enqueued(NamedTuple):
    """The job behind a request: new, or the one that the key names; `mismatch`: it differs."""

    job: Job
    created: bool
    mismatch: bool


class Redriven(NamedTuple):
    """What a bulk redrive found and changed; `more` tells that its filter means further jobs."""

    matched: int
    redriven: int
    more: bool


class Queue:
    """The queue over one store. Safe for many threads; every method raises QueuelogErrors."""

    def __init__(
        self,
        store: Store,
        job_types: JobTypes,
        clock: Clock,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.store = store
        self.job_types = job_types
        self.clock = clock
        self.leases = Leases(store, job_types, clock, random)

    def enqueue(self, identity: Identity, new: NewJob) -> Enqueued:
        """Store a job, or find the one that the producer made with this key before."""
        job = admit(new, identity, self.job_types, self.clock())
        enqueued = _compared(job, *self.store.insert(job))
        if enqueued.mismatch and new.key_from_header:
            raise IdempotencyKeyReused("This key was used with another request; nothing changed.")
        return enqueued

    def enqueue_many(
        self, identity: Identity, many: Sequence[NewJob]
    ) -> Sequence[Enqueued | QueuelogError]:
        """`enqueue` for each in one transaction; one that is refused stops no other."""
        now = self.clock()
        admitted = [self._try_to_admit(new, identity, now) for new in many]
        jobs = [job for job in admitted if isinstance(job, Job)]
        stored = iter(self.store.insert_many(jobs) if jobs else [])
        return [_compared(job, *next(stored)) if isinstance(job, Job) else job for job in admitted]

    def get(self, identity: Identity, job_id: int) -> Job:
        """A job that the caller may see; any other raises the same NotFound."""
        job = self.store.get(job_id)
        if job is None or not may_see(identity, job):
            raise NotFound()
        return job

    def attempts(self, identity: Identity, job_id: int) -> tuple[Job, Mapping[int, str]]:
        """A job that the caller may see, with the error texts of its attempts for an admin."""
        if identity.role is not Role.ADMIN:
            return self.get(identity, job_id), {}
        found = self.store.get_with_errors(job_id)
        if found is None:
            raise NotFound()
        return found

    def list(self, identity: Identity, where: Filter, limit: int, after: Position | None) -> Page:
        """The jobs that the caller may see, one page."""
        self._refuse_unknown(where.type, "type")
        if identity.role is Role.PRODUCER:
            if where.producer_id not in (None, identity.name):
                return Page([], None)
            where = where._replace(producer_id=identity.name)
        elif identity.role is Role.WORKER:
            where = where._replace(types=identity.types)
        return self.store.list(where, limit, after)

    def cancel(self, identity: Identity, job_id: int) -> Reported:
        """End a pending job, ask a running one to stop."""
        return self._update(identity, job_id, transitions.cancel)

    def redrive(self, identity: Identity, job_id: int) -> Reported:
        """Send a failed or cancelled job on its way again."""
        return self._update(
            identity, job_id, lambda job, now: transitions.redrive(job, now, identity.name)
        )

    def redrive_many(
        self, identity: Identity, where: Dead, limit: int, *, dry_run: bool
    ) -> Redriven:
        """`redrive` for those that a filter means, the oldest first; a dry run only counts."""
        self._refuse_unknown(where.type, "filter.type")

        def move(job: Job) -> Job:
            # It may have been redriven and have ended in another way since it was found.
            if not where.means(job):
                raise no_such_state()
            return transitions.redrive(job, self.clock(), identity.name)

        found = self.store.find_dead(where, limit + 1)
        meant = found[:limit]
        changed = 0 if dry_run else self.store.update_many(meant, move)
        return Redriven(len(meant), changed, len(found) > limit)

    def stats(self, identity: Identity) -> Stats:
        """Numbers for the types that the caller may see."""
        types = None if identity.types is None else sorted(identity.types)
        return self.store.stats(self.clock(), types)

    def purge(
        self,
        older_than_seconds: int,
        limit: int,
        statuses: Iterable[Status] = TERMINAL,
        *,
        to_the_end: bool = False,
    ) -> int:
        """Delete jobs that finished longer ago than that, in one of these statuses; how many. 0 is
        said early where too many others are met, unless it is to go to the end."""
        before = self.clock() - older_than_seconds * 1000
        return self.store.purge(before, limit, statuses, to_the_end=to_the_end)

    def _try_to_admit(self, new: NewJob, identity: Identity, now: int) -> Job | QueuelogError:
        try:
            return admit(new, identity, self.job_types, now)
        except QueuelogError as refused:
            return refused

    def _refuse_unknown(self, name: str | None, field: str) -> None:
        if name is not None and name not in self.job_types:
            raise invalid(field, "not-allowed", "This type is not on the allowlist.")

    def _update(self, identity: Identity, job_id: int, move: Move) -> Reported:
        return update_visible(self.store, self.clock, identity, job_id, move, NotFound)


def _compared(job: Job, stored: Job, created: bool) -> Enqueued:
    return Enqueued(stored, created, not created and stored.fingerprint != job.fingerprint)
