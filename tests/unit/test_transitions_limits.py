"""Budgets of the state machine: releases, the longest run, what a redrive gives back."""

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict, DeadlineExceeded
from queuelog_core.job import Job, Outcome, Status
from queuelog_core.reports import Verb
from tests.support.factories import (
    LEASE,
    NOON,
    expired_job,
    job_in,
    pending_job,
    report,
    running_job,
    tell,
)

LATER = NOON + 1_000
LONGEST = 12 * LEASE


def beat(job: Job, now: int, extend: int = LEASE, runtime_max: int = LONGEST) -> Job:
    return transitions.heartbeat(job, now, report(Verb.HEARTBEAT), extend, runtime_max)


def run_once(job: Job, verb: Verb) -> Job:
    claimed = transitions.claim(job, NOON, "mailer", LEASE)
    return tell(claimed, report(verb, claimed.attempt))


def released_twenty_times() -> Job:
    job = pending_job(id=1)
    for _ in range(20):
        job = run_once(job, Verb.RELEASE)
    return job


def test_twenty_releases_are_free() -> None:
    job = released_twenty_times()

    assert (job.status, job.release_count, job.retry_count) == (Status.PENDING, 20, 0)


def test_the_release_after_twenty_is_a_failure() -> None:
    job = run_once(released_twenty_times(), Verb.RELEASE)

    assert (job.status, job.retry_count) == (Status.PENDING, 1)
    assert job.error_code == "release_limit"
    assert job.history[-1].outcome is Outcome.FAILED


def test_a_job_that_is_always_released_ends_as_failed() -> None:
    job = released_twenty_times()

    for _ in range(job.max_retries + 1):
        job = run_once(job, Verb.RELEASE)

    assert (job.status, job.error_code) == (Status.FAILED, "release_limit")
    assert job.attempt == 24


def test_a_release_beyond_the_limit_waits_for_the_backoff_and_not_for_the_delay() -> None:
    job = running_job(release_count=20)

    after = transitions.release(job, LATER, report(Verb.RELEASE), delay=1, backoff=7_000)

    assert after.run_at == LATER + 7_000


def test_a_release_beyond_the_limit_keeps_the_age_of_a_job_without_backoff() -> None:
    after = tell(running_job(release_count=20), report(Verb.RELEASE), LATER)

    assert after.run_at == NOON


def test_a_wish_to_cancel_wins_over_the_limit_of_releases() -> None:
    job = transitions.cancel(running_job(release_count=20), NOON)

    after = tell(job, report(Verb.RELEASE), LATER)

    assert (after.status, after.error_code) == (Status.CANCELLED, None)


def test_a_heartbeat_never_shortens_a_lease() -> None:
    job = running_job()

    assert beat(job, LATER, extend=1_000) is job


def test_a_heartbeat_after_the_lease_ran_out_revives_it() -> None:
    overdue = NOON + LEASE + 5_000

    after = beat(running_job(), overdue)

    assert after.lease_expires_at == overdue + LEASE


def test_a_heartbeat_gives_no_more_than_the_longest_run() -> None:
    job = running_job()
    late = NOON + LONGEST - 1

    after = beat(job, late)

    assert after.lease_expires_at == NOON + LONGEST


def test_a_heartbeat_at_the_ceiling_may_be_repeated() -> None:
    at_ceiling = beat(running_job(), NOON + LONGEST - 1_000)

    assert beat(at_ceiling, NOON + LONGEST - 1) is at_ceiling


@pytest.mark.parametrize("beyond", [0, 1, LEASE])
def test_a_heartbeat_after_the_longest_run_is_refused(beyond: int) -> None:
    job = beat(running_job(), NOON + LONGEST - 1)

    with pytest.raises(DeadlineExceeded):
        beat(job, NOON + LONGEST + beyond)


def test_a_hung_job_is_given_up_however_often_its_client_sends_heartbeats() -> None:
    """B27: a heartbeat in the background keeps a hung job alive for ever."""
    job, now = running_job(), NOON

    with pytest.raises(DeadlineExceeded):
        while now < NOON + 100 * LONGEST:
            now += LEASE // 2
            job = beat(job, now)

    assert transitions.expire(job, now, 0).status is Status.PENDING


def test_a_redrive_repeated_by_the_same_admin_changes_nothing() -> None:
    once = transitions.redrive(job_in(Status.FAILED), LATER, "root")

    assert transitions.redrive(once, LATER + 1, "root") is once


def test_a_redrive_by_another_admin_is_a_conflict() -> None:
    once = transitions.redrive(job_in(Status.FAILED), LATER, "root")

    with pytest.raises(Conflict):
        transitions.redrive(once, LATER, "wheel")


@pytest.mark.parametrize("verb", [Verb.FAIL, Verb.RELEASE])
def test_a_redrive_is_not_repeated_once_the_job_was_claimed(verb: Verb) -> None:
    once = transitions.redrive(job_in(Status.FAILED), LATER, "root")
    claimed = transitions.claim(once, LATER, "mailer", LEASE)
    pending = tell(claimed, report(verb, attempt=2), LATER)

    with pytest.raises(Conflict):
        transitions.redrive(pending, LATER, "root")


def test_a_redriven_job_has_its_whole_budget_again() -> None:
    job = transitions.redrive(job_in(Status.FAILED, max_retries=2), NOON, "root")

    for _ in range(2):
        job = run_once(job, Verb.FAIL)

    assert job.status is Status.PENDING
    assert run_once(job, Verb.FAIL).status is Status.FAILED


@pytest.mark.parametrize("spent", [0, 1, 3])
def test_a_late_completion_returns_the_retry_only_if_that_expiry_took_it(spent: int) -> None:
    expired = expired_job(max_retries=3, retry_count=spent)

    done = tell(expired, report(Verb.COMPLETE), NOON + 2 * LEASE)

    assert done.retry_count == spent
