"""What every arrow changes in a job, and that it changes nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from queuelog_core import transitions
from queuelog_core.job import Attempt, Job, Outcome, Status
from queuelog_core.reports import Verb
from tests.support.factories import LEASE, NOON, expired_job, pending_job, report, running_job

LATER = NOON + 1_000
LEASE_END = NOON + LEASE
AFTER_LEASE = LEASE_END + 1_000
Action = Callable[[Job], Job]
Fields = dict[str, Any]
Arrow = tuple[Job, Action, Fields, Fields]


def claim(job: Job) -> Job:
    return transitions.claim(job, LATER, "mailer", LEASE)


def complete(now: int = LATER) -> Action:
    return lambda job: transitions.complete(job, now, report(Verb.COMPLETE), '{"sent":1}')


def fail(**facts: Any) -> Action:
    told: Fields = {"delay": 0, "error": "no mail", "error_code": "smtp"} | facts
    return lambda job: transitions.fail(job, LATER, report(Verb.FAIL), **told)


def release(delay: int = 0) -> Action:
    said = report(Verb.RELEASE)
    return lambda job: transitions.release(job, LATER, said, delay=delay, backoff=5_000)


def expire(delay: int = 0) -> Action:
    return lambda job: transitions.expire(job, LEASE_END, delay)


def lose(job: Job) -> Job:
    return transitions.lose(job, LATER, 1)


def heartbeat(job: Job) -> Job:
    return transitions.heartbeat(job, LATER, report(Verb.HEARTBEAT), LEASE, 12 * LEASE)


def cancel(now: int = LATER) -> Action:
    return lambda job: transitions.cancel(job, now)


def redrive(job: Job) -> Job:
    return transitions.redrive(job, LATER, "root")


def ended(outcome: Outcome, at: int = LATER, **more: str) -> Fields:
    return {"ended_at": at, "outcome": outcome, **more}


OLD_ERROR: Fields = {"error": "old", "error_code": "old", "error_attempt": 7}
# Their budgets are partly spent and they still show an older failure, so that a field which an
# arrow should set, clear or keep differs from its default.
USED = running_job(retry_count=1, release_count=7, **OLD_ERROR)
LAST_RUN = running_job(retry_count=3, release_count=7, **OLD_ERROR)
ASKED = transitions.cancel(running_job(retry_count=1, **OLD_ERROR), NOON)
NO_RELEASES = running_job(release_count=20)
FAILED_JOB = fail()(LAST_RUN)
CANCELLED_JOB = fail()(ASKED)
CANCELLED_UNRUN = transitions.cancel(pending_job(id=1), NOON)

PENDING: Fields = {
    "status": Status.PENDING,
    "lease_expires_at": None,
    "claimed_at": None,
    "worker_id": None,
}
COMPLETED: Fields = {
    "status": Status.COMPLETED,
    "lease_expires_at": None,
    "finished_at": LATER,
    "result": '{"sent":1}',
    "error": None,
    "error_code": None,
    "error_attempt": None,
}
FAILED: Fields = {"status": Status.FAILED, "lease_expires_at": None, "finished_at": LATER}
CANCELLED: Fields = FAILED | {"status": Status.CANCELLED}
NO_MAIL: Fields = {"error": "no mail", "error_code": "smtp", "error_attempt": 1}
EXPIRED: Fields = {"error": None, "error_code": "lease_expired", "error_attempt": None}
LOST = EXPIRED | {"error_code": "payload_lost"}
AT_LEASE_END: Fields = {"finished_at": LEASE_END, "updated_at": LEASE_END}
REDRIVEN: Fields = {
    "status": Status.PENDING,
    "run_at": LATER,
    "finished_at": None,
    "redriven_by": "root",
}

COMPLETED_RUN = ended(Outcome.COMPLETED, report="complete-digest")
FAILED_RUN = ended(Outcome.FAILED, error_code="smtp", report="fail-digest")
EXPIRED_RUN = ended(Outcome.EXPIRED, LEASE_END, error_code="lease_expired")
LOST_RUN = ended(Outcome.FAILED, error_code="payload_lost")
RELEASED_RUN = ended(Outcome.RELEASED, report="release-digest")
SPENT: Fields = {"retry_spent": True}
CLOSED: Fields = {"closed": True}
RETRY: Fields = {"retry_count": 2}

# The job before, the action, the fields that change in the job and in its newest attempt.
ARROWS: dict[str, Arrow] = {
    "complete": (USED, complete(), COMPLETED, COMPLETED_RUN),
    "complete-after-cancel": (ASKED, complete(), COMPLETED, COMPLETED_RUN),
    "fail-retried-at-once": (USED, fail(), PENDING | NO_MAIL | RETRY, FAILED_RUN | SPENT),
    "fail-retried-later": (
        USED,
        fail(delay=9_000),
        PENDING | NO_MAIL | RETRY | {"run_at": LATER + 9_000},
        FAILED_RUN | SPENT,
    ),
    "fail-without-words": (
        USED,
        fail(error=None, error_code=None),
        PENDING | RETRY | dict.fromkeys(OLD_ERROR),
        FAILED_RUN | SPENT | {"error_code": None},
    ),
    "fail-the-last-run": (LAST_RUN, fail(delay=9_000), FAILED | NO_MAIL, FAILED_RUN),
    "fail-for-good": (USED, fail(retryable=False), FAILED | NO_MAIL, FAILED_RUN),
    "fail-after-cancel": (ASKED, fail(), CANCELLED | NO_MAIL, FAILED_RUN),
    "expire-retried": (
        USED,
        expire(9_000),
        PENDING | EXPIRED | RETRY | {"run_at": LEASE_END + 9_000, "updated_at": LEASE_END},
        EXPIRED_RUN | SPENT,
    ),
    "expire-the-last-run": (LAST_RUN, expire(), FAILED | EXPIRED | AT_LEASE_END, EXPIRED_RUN),
    "expire-after-cancel": (ASKED, expire(), CANCELLED | EXPIRED | AT_LEASE_END, EXPIRED_RUN),
    "lose": (USED, lose, FAILED | LOST, LOST_RUN),
    "lose-after-cancel": (ASKED, lose, CANCELLED | LOST, LOST_RUN),
    "heartbeat": (USED, heartbeat, {"lease_expires_at": LATER + LEASE}, {}),
    "release": (USED, release(), PENDING | {"release_count": 8}, RELEASED_RUN),
    "release-until-later": (
        USED,
        release(delay=9_000),
        PENDING | {"release_count": 8, "run_at": LATER + 9_000},
        RELEASED_RUN,
    ),
    "release-after-cancel": (ASKED, release(9_000), CANCELLED | {"release_count": 1}, RELEASED_RUN),
    "release-too-often": (
        NO_RELEASES,
        release(delay=9_000),
        PENDING | {"error_code": "release_limit", "retry_count": 1, "run_at": LATER + 9_000},
        RELEASED_RUN | SPENT | {"outcome": Outcome.FAILED, "error_code": "release_limit"},
    ),
    "cancel-running": (USED, cancel(), {"cancel_requested_at": LATER}, {}),
    "cancel-overdue": (
        USED,
        cancel(LEASE_END),
        CANCELLED | EXPIRED | AT_LEASE_END | {"cancel_requested_at": LEASE_END},
        EXPIRED_RUN,
    ),
    "redrive-failed": (
        FAILED_JOB,
        redrive,
        PENDING | REDRIVEN | {"retry_count": 0, "release_count": 0},
        CLOSED,
    ),
    "redrive-cancelled": (
        CANCELLED_JOB,
        redrive,
        PENDING | REDRIVEN | {"retry_count": 0, "cancel_requested_at": None},
        CLOSED,
    ),
    "complete-late": (
        expired_job(retry_count=1, **OLD_ERROR),
        complete(AFTER_LEASE),
        COMPLETED
        | {"finished_at": AFTER_LEASE, "updated_at": AFTER_LEASE, "retry_count": 1}
        | {"claimed_at": NOON, "worker_id": "mailer"},
        COMPLETED_RUN | {"ended_at": AFTER_LEASE, "error_code": None},
    ),
}


@pytest.mark.parametrize("name", ARROWS)
def test_an_arrow_changes_what_it_should_and_nothing_else(name: str) -> None:
    before, act, changes, entry_changes = ARROWS[name]

    after = act(before)

    changed: Fields = {"updated_at": LATER} | changes
    assert after == before._replace(
        **changed,
        version=before.version + 1,
        history=(*before.history[:-1], before.history[-1]._replace(**entry_changes)),
    )


def test_claim_opens_an_attempt_and_a_lease() -> None:
    before = pending_job(id=1, redriven_by="root", **OLD_ERROR)

    after = claim(before)

    assert after == before._replace(
        status=Status.RUNNING,
        attempt=1,
        claimed_at=LATER,
        worker_id="mailer",
        lease_expires_at=LATER + LEASE,
        redriven_by=None,
        updated_at=LATER,
        version=2,
        history=(Attempt(attempt=1, worker_id="mailer", claimed_at=LATER),),
    )


def test_cancel_ends_a_pending_job_that_never_ran() -> None:
    before = pending_job(id=1)

    after = cancel()(before)

    assert after == before._replace(
        status=Status.CANCELLED, finished_at=LATER, updated_at=LATER, version=2
    )


def test_redrive_of_a_job_that_never_ran_has_no_attempt_to_close() -> None:
    after = redrive(CANCELLED_UNRUN)

    assert after == CANCELLED_UNRUN._replace(**REDRIVEN, updated_at=LATER, version=3)


def test_a_second_wish_to_cancel_a_running_job_changes_nothing() -> None:
    assert cancel()(ASKED) is ASKED


def test_an_older_attempt_stays_in_the_history_as_it_was() -> None:
    again = claim(fail()(running_job()))

    done = transitions.complete(again, LATER, report(Verb.COMPLETE, attempt=2), None)

    assert done.history[0] == again.history[0]
    assert [entry.outcome for entry in done.history] == [Outcome.FAILED, Outcome.COMPLETED]
