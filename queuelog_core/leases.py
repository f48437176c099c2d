"""What workers do: claim jobs, report on them, hand them back; and what settles silent leases.

Allowlist, visibility and the digests of reports are decided here, transitions decide what happens
to a job, and the store applies them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from queuelog_core import transitions
from queuelog_core.clock import Clock
from queuelog_core.documents import Document, content_digest, short_digest
from queuelog_core.errors import Forbidden, QueuelogError, invalid, no_such_state
from queuelog_core.identity import Identity, may_see
from queuelog_core.job import Job
from queuelog_core.job_types import JobTypes
from queuelog_core.reports import Report, Verb
from queuelog_core.stores import Store, Transition

POLL_SECONDS_MAX = 5
Move = Callable[[Job, int], Job]
"""A transition that still asks for the time."""


class Wanted(NamedTuple):
    """What a worker asks for. `types` None: all that its key may run; `limit` None: one job."""

    types: Sequence[str] | None = None
    lease_seconds: int | None = None
    limit: int | None = None
    idempotency_key: str | None = None


class Claimed(NamedTuple):
    """The jobs, now the caller's; `replayed` tells that an earlier call with the key got them.
    `next_due_in_seconds`, told with a limit: when a job is due or a lease ends; None: drained."""

    jobs: Sequence[Job]
    replayed: bool
    next_due_in_seconds: int | None = None


class Reported(NamedTuple):
    """The job after a report; `replayed` tells that nothing changed, it was recorded before."""

    job: Job
    replayed: bool


class Leases:
    """The side of the queue that workers use. Every method raises QueuelogErrors."""

    def __init__(
        self, store: Store, job_types: JobTypes, clock: Clock, random: Callable[[], float]
    ) -> None:
        self._store = store
        self._job_types = job_types
        self._clock = clock
        self._random = random

    def claim(self, identity: Identity, wanted: Wanted) -> Claimed:
        """The best due jobs, at most `limit`; or those of an earlier call with the same key."""
        lanes = self._lanes(identity, wanted.types)
        runtime_max = min((self._job_types[name].max_runtime_seconds for name in lanes), default=0)
        if lanes and wanted.lease_seconds is not None and wanted.lease_seconds > runtime_max:
            raise invalid(
                "lease_seconds", "out-of-range", f"At most {runtime_max} for these types."
            )
        if not lanes:
            return Claimed([], False)
        now = self._clock()
        key = None if wanted.idempotency_key is None else content_digest([identity.name, *wanted])

        def give(job: Job) -> Job:
            seconds = wanted.lease_seconds or self._job_types.policy(job.type).lease_seconds
            # Read anew: a lease begins when it is granted, not when the wait for the lock began.
            return transitions.claim(job, self._clock(), identity.name, seconds * 1000, key)

        settle = self._settle(now)
        limit, tell = wanted.limit or 1, wanted.limit is not None
        while True:
            taken = self._store.claim(now, lanes, limit, settle, give, key, tell_next_due=tell)
            ended = sum(
                self._store.update_many([job_id], self._lose(attempt))
                for job_id, attempt in taken.lost
            )
            # Asked again only when there is a job less, so that this ends.
            if taken.jobs or not ended:
                break
        return Claimed(taken.jobs, taken.replayed, self._seconds_until(taken.next_due_at))

    def poll_after_seconds(self, identity: Identity, types: Sequence[str] | None) -> int:
        """When a caller that got nothing should ask again: soon, at the latest in 5 s."""
        lanes = self._lanes(identity, types)
        wait = self._seconds_until(self._store.next_due_at(lanes) if lanes else None)
        return POLL_SECONDS_MAX if wait is None else max(1, min(wait, POLL_SECONDS_MAX))

    def complete(
        self, identity: Identity, job_id: int, attempt: int | None, result: Document | None
    ) -> Reported:
        """Record the work as done."""
        text = None if result is None else result.text
        report = _report(Verb.COMPLETE, identity, attempt, None if result is None else result.value)
        return self._update(
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

        return self._update(identity, job_id, move)

    def heartbeat(
        self, identity: Identity, job_id: int, attempt: int | None, extend_seconds: int | None
    ) -> Job:
        """Extend the lease; by the type's own length if no other is asked for."""
        report = _report(Verb.HEARTBEAT, identity, attempt, None)

        def move(job: Job, now: int) -> Job:
            policy = self._job_types.policy(job.type)
            extend = extend_seconds or policy.lease_seconds
            runtime_max = policy.max_runtime_seconds * 1000
            return transitions.heartbeat(job, now, report, extend * 1000, runtime_max)

        return self._update(identity, job_id, move).job

    def release(
        self, identity: Identity, job_id: int, attempt: int | None, delay_seconds: int | None
    ) -> Reported:
        """Hand the job back, no retry spent."""
        report = _report(Verb.RELEASE, identity, attempt, delay_seconds)

        def move(job: Job, now: int) -> Job:
            delay = (delay_seconds or 0) * 1000
            return transitions.release(job, now, report, delay=delay, backoff=self._backoff(job))

        return self._update(identity, job_id, move)

    def recover(self, limit: int) -> int:
        """Settle leases that ran out and that no claim has settled; how many."""
        now = self._clock()
        return self._store.settle_overdue(now, limit, self._settle(now))

    def _lanes(self, identity: Identity, types: Sequence[str] | None) -> Sequence[str]:
        if types is None:
            return sorted(name for name in self._job_types if identity.may_use(name))
        if any(name not in self._job_types for name in types):
            raise invalid("types", "not-allowed", "A type is not on the allowlist.")
        if not all(identity.may_use(name) for name in types):
            raise Forbidden("This key may not run one of these types.")
        return sorted(set(types))

    def _update(self, identity: Identity, job_id: int, move: Move) -> Reported:
        return update_visible(self._store, self._clock, identity, job_id, move, no_such_state)

    def _seconds_until(self, due_at: int | None) -> int | None:
        """Rounded up, and 0 for what is due already."""
        return None if due_at is None else max(0, -(-(due_at - self._clock()) // 1000))

    def _settle(self, now: int) -> Transition:
        return lambda job: transitions.expire(job, now, self._backoff(job))

    def _lose(self, attempt: int) -> Transition:
        return lambda job: transitions.lose(job, self._clock(), attempt)

    def _backoff(self, job: Job) -> int:
        backoff = self._job_types.policy(job.type).backoff
        return backoff.delay(job.retry_count + 1, self._random())


def update_visible(
    store: Store,
    clock: Clock,
    identity: Identity,
    job_id: int,
    move: Move,
    refusal: Callable[[], QueuelogError],
) -> Reported:
    """Apply a move to a job; one that is not there or not the caller's to see is refused alike."""

    def transition(job: Job) -> Job:
        if not may_see(identity, job):
            raise refusal()
        return move(job, clock())

    updated = store.update(job_id, transition)
    if updated is None:
        raise refusal()
    job, changed = updated
    return Reported(job, not changed)


def _report(verb: Verb, identity: Identity, attempt: int | None, body: Any) -> Report:
    digest = short_digest([verb.value, body])
    return Report(verb=verb, worker_id=identity.name, attempt=attempt, digest=digest)
