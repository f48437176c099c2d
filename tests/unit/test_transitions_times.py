"""Times in the state machine: due and overdue to the millisecond, clocks that differ."""

from collections.abc import Callable

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict
from queuelog_core.job import Job, Status
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


def test_a_job_is_not_claimed_a_millisecond_too_early() -> None:
    job = pending_job(id=1, run_at=NOON)

    with pytest.raises(Conflict):
        transitions.claim(job, NOON - 1, "mailer", LEASE)


def test_a_job_is_claimed_in_the_millisecond_it_is_due() -> None:
    job = pending_job(id=1, run_at=NOON)

    assert transitions.claim(job, NOON, "mailer", LEASE).status is Status.RUNNING


def test_a_lease_does_not_expire_a_millisecond_too_early() -> None:
    with pytest.raises(Conflict):
        transitions.expire(running_job(), NOON + LEASE - 1, 0)


def test_cancel_only_asks_while_the_lease_lasts() -> None:
    after = transitions.cancel(running_job(), NOON + LEASE - 1)

    assert after.status is Status.RUNNING


def test_the_delay_after_an_expiry_counts_from_the_end_of_the_lease() -> None:
    after = transitions.expire(running_job(), NOON + 50 * LEASE, 9_000)

    assert after.run_at == NOON + LEASE + 9_000


@pytest.mark.parametrize(
    ("behind", "expected"), [(0, NOON), (1, NOON), (300_000, NOON), (300_001, NOON - 300_001)]
)
def test_times_in_a_job_wait_for_a_clock_at_most_five_minutes_behind(
    behind: int, expected: int
) -> None:
    after = tell(running_job(), report(Verb.COMPLETE), NOON - behind)

    assert (after.updated_at, after.finished_at) == (expected, expected)
    assert after.history[-1].ended_at == expected


@pytest.mark.parametrize("behind", [1, 60_000, 300_000])
@pytest.mark.parametrize(
    ("job", "act", "dated"),
    [
        (
            running_job()._replace(lease_expires_at=NOON + 1),
            lambda job, now: tell(job, report(Verb.HEARTBEAT), now),
            {"lease_expires_at": NOON + LEASE},
        ),
        (
            running_job(),
            lambda job, now: transitions.release(
                job, now, report(Verb.RELEASE), delay=9_000, backoff=0
            ),
            {"run_at": NOON + 9_000},
        ),
        (
            running_job(release_count=20),
            lambda job, now: transitions.release(
                job, now, report(Verb.RELEASE), delay=0, backoff=5_000
            ),
            {"run_at": NOON + 5_000},
        ),
        (pending_job(id=1), transitions.cancel, {"finished_at": NOON}),
        (running_job(), transitions.cancel, {"cancel_requested_at": NOON}),
        (
            running_job()._replace(lease_expires_at=NOON - LEASE),
            transitions.cancel,
            {"cancel_requested_at": NOON, "finished_at": NOON},
        ),
        (
            transitions.cancel(running_job(), NOON),
            lambda job, now: tell(job, report(Verb.RELEASE), now),
            {"cancel_requested_at": NOON, "finished_at": NOON},
        ),
        (
            job_in(Status.FAILED),
            lambda job, now: transitions.redrive(job, now, "root"),
            {"created_at": NOON},
        ),
    ],
)
def test_no_verb_of_a_host_that_is_behind_dates_a_job_back(
    job: Job, act: Callable[[Job, int], Job], dated: dict[str, int], behind: int
) -> None:
    after = act(job, NOON - behind)

    assert after.version == job.version + 1
    assert after._asdict() == after._asdict() | dated | {"updated_at": NOON}
    assert all(entry.ended_at in (None, NOON) for entry in after.history)


def test_a_redriven_job_is_due_at_once_by_the_clock_of_the_host_that_redrove_it() -> None:
    after = transitions.redrive(job_in(Status.FAILED), NOON - 300_000, "root")

    assert transitions.claim(after, NOON - 300_000, "mailer", LEASE).claimed_at == NOON


def test_a_lease_given_by_a_clock_behind_counts_from_the_time_in_the_job() -> None:
    job = pending_job(id=1, updated_at=NOON, run_at=NOON - LEASE)

    after = transitions.claim(job, NOON - 60_000, "mailer", LEASE)

    assert (after.claimed_at, after.lease_expires_at) == (NOON, NOON + LEASE)


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize(("now", "expected"), [(NOON + LEASE - 1, False), (NOON + LEASE, True)])
def test_a_report_came_late_from_the_end_of_the_lease_on(
    verb: Verb, now: int, expected: bool
) -> None:
    job = running_job()

    reported = tell(job, report(verb), now)

    assert transitions.came_late(job, reported) is expected


def test_an_expiry_is_no_report_that_came_late() -> None:
    assert not transitions.came_late(running_job(), expired_job())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pending_job(id=1), running_job()),
        (pending_job(id=1), job_in(Status.CANCELLED)),
        (job_in(Status.COMPLETED), job_in(Status.COMPLETED)),
    ],
)
def test_what_is_no_late_completion_did_not_come_late(before: Job, after: Job) -> None:
    assert not transitions.came_late(before, after)


def test_a_completion_after_the_expiry_came_late() -> None:
    expired = expired_job()

    done = tell(expired, report(Verb.COMPLETE), NOON + 2 * LEASE)

    assert transitions.came_late(expired, done)
