"""The contract's table of reports, row by row and in its order, for all four verbs."""

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict
from queuelog_core.identity import Identity
from queuelog_core.job import Job, Status
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.queue import Queue
from queuelog_core.reports import Verb
from queuelog_core.stores import Store
from tests.support.factories import (
    LEASE,
    NOON,
    FakeClock,
    expired_job,
    job_in,
    pending_job,
    report,
    running_job,
    tell,
    worker,
)

OVERDUE = NOON + 2 * LEASE
ENDING = [Verb.COMPLETE, Verb.FAIL, Verb.RELEASE]
NOT_COMPLETE = [Verb.FAIL, Verb.HEARTBEAT, Verb.RELEASE]
APPLIED = {
    Verb.COMPLETE: Status.COMPLETED,
    Verb.FAIL: Status.PENDING,
    Verb.HEARTBEAT: Status.RUNNING,
    Verb.RELEASE: Status.PENDING,
}
every_verb = pytest.mark.parametrize("verb", Verb)
every_late_status = pytest.mark.parametrize(
    "status", [Status.PENDING, Status.FAILED, Status.CANCELLED]
)


def claim(job: Job, name: str = "mailer", now: int = OVERDUE) -> Job:
    return transitions.claim(job, now, name, LEASE)


def late(status: Status) -> Job:
    """A job whose last attempt ended by expiry, in each status that it can then be in."""
    match status:
        case Status.FAILED:
            return expired_job(max_retries=0)
        case Status.CANCELLED:
            return transitions.expire(transitions.cancel(running_job(), NOON), NOON + LEASE, 0)
        case _:
            return expired_job()


def refusal(job: Job, verb: Verb, attempt: int | None = 1, name: str = "mailer") -> Conflict:
    with pytest.raises(Conflict) as raised:
        tell(job, report(verb, attempt, name), OVERDUE)
    return raised.value


@pytest.mark.parametrize("identity", [worker(), worker(types=frozenset({"pdf"}))])
def test_a_job_that_is_not_there_or_not_visible_is_a_plain_conflict(
    store: Store, clock: FakeClock, identity: Identity
) -> None:
    queue = Queue(store, JobTypes({"email": Policy(), "pdf": Policy()}), clock)
    job, _ = store.insert(pending_job())
    hidden = job.id if identity.types else job.id + 1

    with pytest.raises(Conflict) as raised:
        queue.leases.complete(identity, hidden, 1, None)

    assert raised.value.code == "conflict"
    assert raised.value.detail == "The job does not exist, or is not in a state that allows this."


@pytest.mark.parametrize("verb", ENDING)
def test_the_same_report_again_returns_the_same_job(verb: Verb) -> None:
    ended = tell(running_job(), report(verb))

    assert tell(ended, report(verb), OVERDUE) is ended


@pytest.mark.parametrize("verb", [Verb.FAIL, Verb.RELEASE])
def test_the_same_report_is_known_while_a_later_attempt_runs(verb: Verb) -> None:
    later = claim(tell(running_job(), report(verb)), "printer")

    assert tell(later, report(verb), OVERDUE) is later


def test_the_same_report_is_known_after_a_redrive() -> None:
    redriven = transitions.redrive(job_in(Status.FAILED), NOON, "root")

    assert tell(redriven, report(Verb.FAIL), OVERDUE) is redriven


def test_the_same_report_is_known_after_a_late_completion() -> None:
    done = tell(expired_job(), report(Verb.COMPLETE), OVERDUE)

    assert tell(done, report(Verb.COMPLETE), OVERDUE) is done


def runs(count: int) -> Job:
    """A running job with that many attempts; all but the last were released."""
    job = running_job(now=OVERDUE)
    for attempt in range(1, count):
        job = claim(tell(job, report(Verb.RELEASE, attempt), OVERDUE))
    return job


def test_the_same_report_is_known_for_the_newest_ten_attempts() -> None:
    job = runs(10)

    assert tell(job, report(Verb.RELEASE, attempt=1), OVERDUE) is job


def test_the_same_report_is_not_known_for_an_eleventh_attempt() -> None:
    assert refusal(runs(11), Verb.RELEASE, attempt=1).code == "lease-lost"


@every_verb
@pytest.mark.parametrize("first", ENDING)
def test_another_report_of_a_reported_attempt_is_refused(first: Verb, verb: Verb) -> None:
    ended = tell(running_job(), report(first, digest="the-first-words"))

    assert refusal(ended, verb).code == "already-reported"


@every_verb
def test_another_report_is_refused_before_the_attempt_is_found_to_be_old(verb: Verb) -> None:
    later = claim(tell(running_job(), report(Verb.FAIL, digest="the-first-words")))

    assert refusal(later, verb).code == "already-reported"


@every_verb
@pytest.mark.parametrize("attempt", [0, 1, 3])
@pytest.mark.parametrize("name", ["mailer", "printer"])
def test_an_attempt_that_is_not_the_current_one_has_lost_its_lease(
    verb: Verb, attempt: int, name: str
) -> None:
    second = claim(expired_job())

    assert refusal(second, verb, attempt, name).code == "lease-lost"


@every_verb
@pytest.mark.parametrize("attempt", [1, None])
def test_a_job_held_by_somebody_else_is_not_the_callers(verb: Verb, attempt: int | None) -> None:
    refused = refusal(running_job(name="mailer"), verb, attempt, name="printer")

    assert refused.code == "not-owner"
    assert "mailer" not in refused.detail


@every_verb
@pytest.mark.parametrize("attempt", [1, None])
@pytest.mark.parametrize("now", [NOON + 1, OVERDUE])
def test_the_holder_is_heard_even_after_the_lease_ran_out(
    verb: Verb, attempt: int | None, now: int
) -> None:
    job = running_job()

    after = tell(job, report(verb, attempt), now)

    assert (after.status, after.version) == (APPLIED[verb], job.version + 1)


@every_late_status
def test_a_late_completion_counts_whatever_the_expiry_made_of_the_job(status: Status) -> None:
    expired = late(status)

    done = tell(expired, report(Verb.COMPLETE), OVERDUE)

    assert expired.status is status
    assert done.status is Status.COMPLETED


def test_a_late_completion_counts_for_a_job_that_was_cancelled_after_the_expiry() -> None:
    cancelled = transitions.cancel(expired_job(), OVERDUE)

    done = tell(cancelled, report(Verb.COMPLETE), OVERDUE)

    assert (done.status, done.retry_count) == (Status.COMPLETED, 0)


@every_late_status
@pytest.mark.parametrize("verb", NOT_COMPLETE)
def test_any_other_late_report_has_lost_its_lease(status: Status, verb: Verb) -> None:
    assert refusal(late(status), verb).code == "lease-lost"


@every_verb
@every_late_status
@pytest.mark.parametrize(("attempt", "name"), [(None, "mailer"), (1, "printer"), (2, "mailer")])
def test_a_late_report_counts_only_from_the_holder_and_for_that_attempt(
    verb: Verb, status: Status, attempt: int | None, name: str
) -> None:
    assert refusal(late(status), verb, attempt, name).code == "conflict"


@every_verb
@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_a_late_report_is_a_conflict_after_a_redrive(verb: Verb, status: Status) -> None:
    redriven = transitions.redrive(late(status), OVERDUE, "root")

    assert refusal(redriven, verb).code == "conflict"


@every_verb
def test_a_late_report_has_lost_its_lease_after_somebody_elses_claim(verb: Verb) -> None:
    taken = claim(expired_job(), "printer")

    assert refusal(taken, verb).code == "lease-lost"


@every_verb
@pytest.mark.parametrize("ending", ENDING)
def test_a_late_report_is_a_conflict_once_a_later_attempt_has_ended(
    verb: Verb, ending: Verb
) -> None:
    taken = claim(expired_job(), "printer")
    ended = tell(taken, report(ending, attempt=2, name="printer"), OVERDUE)

    assert refusal(ended, verb).code == "conflict"


@every_verb
@pytest.mark.parametrize("attempt", [None, 0, 1])
def test_a_job_that_was_never_claimed_takes_no_report(verb: Verb, attempt: int | None) -> None:
    assert refusal(pending_job(id=1), verb, attempt).code == "conflict"


@every_verb
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_a_repeat_that_names_no_attempt_is_a_conflict(verb: Verb, status: Status) -> None:
    assert refusal(job_in(status), verb, attempt=None).code == "conflict"


@every_verb
def test_a_report_recorded_for_somebody_else_is_not_a_repeat_of_the_callers(verb: Verb) -> None:
    ended = tell(running_job(), report(Verb.COMPLETE, digest="same"))

    with pytest.raises(Conflict) as raised:
        tell(ended, report(verb, name="printer", digest="same"))

    assert raised.value.code == "conflict"
