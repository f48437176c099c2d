"""The use cases: what a caller may do, decided before a store is asked. The only caller of stores.

Allowlist, caps, visibility and ownership live here; transitions decide what happens to a job, and
the store applies them.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from queuelog_core import transitions
from queuelog_core.clock import Clock
from queuelog_core.documents import Document, short_digest
from queuelog_core.errors import (
    Forbidden,
    IdempotencyKeyReused,
    NotFound,
    invalid,
    no_such_state,
)
from queuelog_core.identity import Identity, Role
from queuelog_core.job import Job
from queuelog_core.job_types import JobTypes
from queuelog_core.new_job import NewJob, admit
from queuelog_core.reports import Report, Verb
from queuelog_core.stores import Filter, Page, Position, Stats, Store, Transition

POLL_SECONDS_MAX = 5


class Enqueued(NamedTuple):
    """The job behind a request: new, or the one that the key names; `mismatch`: it differs."""

    job: Job
    created: bool
    mismatch: bool


class Reported(NamedTuple):
    """The job after a report; `replayed` tells that it was recorded before."""

    job: Job
    replayed: bool


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
        self._random = random

    def enqueue(self, identity: Identity, new: NewJob) -> Enqueued:
        """Store a job, or find the one that the producer made with this key before."""
        job = admit(new, identity, self.job_types, self.clock())
        stored, created = self.store.insert(job)
        mismatch = not created and stored.fingerprint != job.fingerprint
        if mismatch and new.key_from_header:
            raise IdempotencyKeyReused("This key was used with another request; nothing changed.")
        return Enqueued(stored, created, mismatch)

    def get(self, identity: Identity, job_id: int) -> Job:
        """A job that the caller may see; any other raises the same NotFound."""
        job = self.store.get(job_id)
        if job is None or not may_see(identity, job):
            raise NotFound()
        return job

    def list(self, identity: Identity, where: Filter, limit: int, after: Position | None) -> Page:
        """The jobs that the caller may see, one page."""
        if where.type is not None and where.type not in self.job_types:
            raise invalid("type", "not-allowed", "This type is not on the allowlist.")
        if identity.role is Role.PRODUCER:
            if where.producer_id not in (None, identity.name):
                return Page([], None)
            where = where._replace(producer_id=identity.name)
        elif identity.role is Role.WORKER:
            where = where._replace(types=identity.types)
        return self.store.list(where, limit, after)

    def claim(
        self, identity: Identity, types: Sequence[str] | None, lease_seconds: int | None
    ) -> Job | None:
        """The best due job of these types (None: all that the key may run), now the caller's."""
        lanes = self._lanes(identity, types)
        runtime_max = min((self.job_types[name].max_runtime_seconds for name in lanes), default=0)
        if lanes and lease_seconds is not None and lease_seconds > runtime_max:
            raise invalid(
                "lease_seconds", "out-of-range", f"At most {runtime_max} for these types."
            )
        now = self.clock()

        def give(job: Job) -> Job:
            seconds = lease_seconds or self.job_types.policy(job.type).lease_seconds
            # Read anew: a lease begins when it is granted, not when the wait for the lock began.
            return transitions.claim(job, self.clock(), identity.name, seconds * 1000)

        claimed = self.store.claim(now, lanes, 1, self._settle(now), give) if lanes else []
        return claimed[0] if claimed else None

    def poll_after_seconds(self, identity: Identity, types: Sequence[str] | None) -> int:
        """When a caller that got nothing should ask again: soon, at the latest in 5 s."""
        lanes = self._lanes(identity, types)
        due_at = self.store.next_due_at(lanes) if lanes else None
        if due_at is None:
            return POLL_SECONDS_MAX
        wait = -(-(due_at - self.clock()) // 1000)
        return max(1, min(wait, POLL_SECONDS_MAX))

    def complete(
        self, identity: Identity, job_id: int, attempt: int | None, result: Document | None
    ) -> Reported:
        """Record the work as done."""
        text = None if result is None else result.text
        report = _report(Verb.COMPLETE, identity, attempt, None if result is None else result.value)
        return self._report(
            identity, job_id, lambda job, now: transitions.complete(job, now, report, text)
        )

    def fail(
        self,
        identity: Identity,
        job_id: int,
        attempt: int | None,
        *,
        error: str | None,
        error_code: str | None,
        retryable: bool,
        retry_in_seconds: int | None,
    ) -> Reported:
        """Record a failure; the texts are scrubbed before anything else sees them."""
        # Only a failure pays for the rules, no cold start of another verb.
        from queuelog_core.redact import redact_code, redact_error

        error = None if error is None else redact_error(error)
        error_code = None if error_code is None else redact_code(error_code)
        facts = [error, error_code, retryable, retry_in_seconds]
        report = _report(Verb.FAIL, identity, attempt, facts)

        def move(job: Job, now: int) -> Job:
            asked = retry_in_seconds
            return transitions.fail(
                job,
                now,
                report,
                delay=self._backoff(job) if asked is None else asked * 1000,
                error=error,
                error_code=error_code,
                retryable=retryable,
            )

        return self._report(identity, job_id, move)

    def stats(self, identity: Identity) -> Stats:
        """Numbers for the types that the caller may see."""
        types = None if identity.types is None else sorted(identity.types)
        return self.store.stats(self.clock(), types)

    def recover(self, limit: int) -> int:
        """Settle leases that ran out and that no claim has settled; how many."""
        now = self.clock()
        return self.store.settle_overdue(now, limit, self._settle(now))

    def purge(self, retention_seconds: int, limit: int) -> int:
        """Delete jobs that finished longer ago than the retention; how many."""
        return self.store.purge(self.clock() - retention_seconds * 1000, limit)

    def _lanes(self, identity: Identity, types: Sequence[str] | None) -> Sequence[str]:
        if types is None:
            return sorted(name for name in self.job_types if identity.may_use(name))
        if any(name not in self.job_types for name in types):
            raise invalid("types", "not-allowed", "A type is not on the allowlist.")
        if not all(identity.may_use(name) for name in types):
            raise Forbidden("This key may not run one of these types.")
        return sorted(set(types))

    def _report(self, identity: Identity, job_id: int, move: Callable[[Job, int], Job]) -> Reported:
        def transition(job: Job) -> Job:
            if not may_see(identity, job):
                raise no_such_state()
            return move(job, self.clock())

        updated = self.store.update(job_id, transition)
        if updated is None:
            raise no_such_state()
        job, changed = updated
        return Reported(job, not changed)

    def _settle(self, now: int) -> Transition:
        return lambda job: transitions.expire(job, now, self._backoff(job))

    def _backoff(self, job: Job) -> int:
        backoff = self.job_types.policy(job.type).backoff
        return backoff.delay(job.retry_count + 1, self._random())


def may_see(identity: Identity, job: Job) -> bool:
    """Producers see their own jobs, workers those of types they may run, admins all."""
    match identity.role:
        case Role.PRODUCER:
            return job.producer_id == identity.name
        case Role.WORKER:
            return identity.may_use(job.type)
        case Role.ADMIN:
            return True


def _report(verb: Verb, identity: Identity, attempt: int | None, body: Any) -> Report:
    digest = short_digest([verb.value, body])
    return Report(verb=verb, worker_id=identity.name, attempt=attempt, digest=digest)
