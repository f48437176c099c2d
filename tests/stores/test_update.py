"""Updates: a pure transition applied as one step, or nothing."""

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict, LeaseLost
from queuelog_core.job import Job, Status
from queuelog_core.reports import Verb
from queuelog_core.stores import Store
from tests.support.factories import LEASE, NOON, report
from tests.support.stores import claim_one, complete, fail, insert


def test_update_stores_what_the_transition_returns(store: Store) -> None:
    insert(store)
    job = claim_one(store)

    done = complete(store, job, NOON + 5, result='{"ok":true}')

    assert store.get(job.id) == done
    assert (done.status, done.result) == (Status.COMPLETED, '{"ok":true}')


def test_update_of_a_job_that_does_not_exist_is_none(store: Store) -> None:
    assert store.update(7, lambda job: job) is None


def test_update_tells_when_the_transition_changed_nothing(store: Store) -> None:
    job = insert(store)

    assert store.update(job.id, lambda job: job) == (job, False)


def test_update_changes_nothing_when_the_transition_refuses(store: Store) -> None:
    job = insert(store)

    def refuse(_: Job) -> Job:
        raise Conflict("no")

    with pytest.raises(Conflict):
        store.update(job.id, refuse)
    assert store.get(job.id) == job


def test_a_fault_in_a_transition_leaves_no_transaction_behind(store: Store) -> None:
    job = insert(store)

    def fault(_: Job) -> Job:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.update(job.id, fault)
    assert claim_one(store).id == job.id


def test_a_late_completion_and_refused_late_reports_are_counted(store: Store) -> None:
    insert(store)
    job = claim_one(store)
    store.settle_overdue(NOON + LEASE, 10, lambda job: transitions.expire(job, NOON + LEASE, 0))
    late = report(Verb.FAIL, job.attempt)

    with pytest.raises(LeaseLost):
        store.update(job.id, lambda job: transitions.fail(job, NOON + LEASE, late, delay=0))
    complete(store, job, NOON + LEASE + 1)

    assert store.stats(NOON, None).late_reports == 2
    assert store.stats(NOON, ["pdf"]).late_reports == 0


def test_a_report_of_an_attempt_that_was_never_given_is_no_late_one(store: Store) -> None:
    insert(store)
    job = claim_one(store)
    made_up = report(Verb.COMPLETE, attempt=99)

    with pytest.raises(LeaseLost):
        store.update(job.id, lambda job: transitions.complete(job, NOON, made_up, None))

    assert store.stats(NOON, None).late_reports == 0


def test_a_report_in_time_is_no_late_one(store: Store) -> None:
    insert(store)

    fail(store, claim_one(store), NOON + LEASE - 1)

    assert store.stats(NOON, None).late_reports == 0


def test_a_report_on_a_lease_that_ran_out_unsettled_counts_as_late(store: Store) -> None:
    insert(store)

    complete(store, claim_one(store), NOON + LEASE)

    assert store.stats(NOON, None).late_reports == 1
