"""Faults that other queues shipped, as they would look in this state machine. The numbers are
those of the collection of public bug cases; B27 is with the heartbeats in
test_transitions_limits.py, the time and text cases are with the clock and the redactor."""

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict, LeaseLost
from queuelog_core.job import Job, Status
from queuelog_core.job_types import RETRIES_MAX, Backoff, BackoffKind
from queuelog_core.reports import Verb
from tests.support.factories import (
    LEASE,
    NOON,
    expired_job,
    pending_job,
    report,
    running_job,
    tell,
)

OVERDUE = NOON + 2 * LEASE
BACKOFF = Backoff(kind=BackoffKind.EXPONENTIAL, base_seconds=2, max_seconds=3600)


def fail(job: Job, delay: int = 0, name: str = "mailer") -> Job:
    said = report(Verb.FAIL, job.attempt, name)
    return transitions.fail(job, job.updated_at, said, delay=delay)


def claim(job: Job, name: str = "mailer") -> Job:
    return transitions.claim(job, max(job.run_at, job.updated_at), name, LEASE)


def test_backoff_never_loses_a_job_with_the_most_retries() -> None:
    """B18: exponential backoff overflows the range of dates and the job vanishes."""
    job = pending_job(id=1, max_retries=RETRIES_MAX)

    while job.status is Status.PENDING:
        job = fail(claim(job), BACKOFF.delay(job.retry_count + 1, 0.99))

    assert (job.status, job.attempt) == (Status.FAILED, RETRIES_MAX + 1)
    assert job.updated_at < NOON + RETRIES_MAX * 3_600_000


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_a_job_that_always_fails_runs_once_more_than_its_retries(max_retries: int) -> None:
    """B19: off by one, one run too many or too few."""
    job = pending_job(id=1, max_retries=max_retries)

    while job.status is Status.PENDING:
        job = fail(claim(job))

    assert (job.attempt, job.retry_count) == (max_retries + 1, max_retries)


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_a_job_that_failed_for_good_cannot_be_claimed(max_retries: int) -> None:
    """B19: the failure that ends a job is terminal."""
    job = fail(running_job(max_retries=max_retries, retry_count=max_retries))

    with pytest.raises(Conflict):
        claim(job)


@pytest.mark.parametrize("verb", Verb)
def test_a_stale_attempt_does_not_resurrect_a_failed_job(verb: Verb) -> None:
    """B20: an attempt that fails late brings a terminal job back."""
    second = claim(expired_job(max_retries=1), "printer")
    failed = fail(second, name="printer")

    with pytest.raises(Conflict):
        tell(failed, report(verb, attempt=1), OVERDUE)

    assert failed.status is Status.FAILED


def test_a_job_that_kills_its_workers_ends_as_failed() -> None:
    """B21: a job that kills its worker never spends a retry and runs for ever."""
    job = pending_job(id=1, max_retries=3)

    while job.status is Status.PENDING:
        running = claim(job)
        job = transitions.expire(running, running.updated_at + LEASE, 0)

    assert (job.status, job.attempt) == (Status.FAILED, 4)


def test_one_expiry_with_retries_left_is_one_retry() -> None:
    """B22: an expired lease lands among the dead although retries remain."""
    job = expired_job(max_retries=5)

    assert (job.status, job.retry_count, job.attempt) == (Status.PENDING, 1, 1)


@pytest.mark.parametrize("verb", Verb)
def test_two_attempts_that_share_one_identity_are_told_apart(verb: Verb) -> None:
    """B23: ownership is tested by the worker's identity alone, which two invocations share."""
    second = claim(expired_job())

    with pytest.raises(LeaseLost):
        tell(second, report(verb, attempt=1), OVERDUE)
