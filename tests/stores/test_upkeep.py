"""What the upkeep and the probes ask of a store: settle, numbers, writable."""

from queuelog_core.job import Priority, Status
from queuelog_core.stores import Count, Filter, Store
from tests.support.engines import counts_exactly
from tests.support.factories import LEASE, NOON, pending_job
from tests.support.stores import claim, claim_one, insert, settle


def test_settle_overdue_settles_leases_of_types_that_nobody_polls(store: Store) -> None:
    insert(store, type="gone")
    claim(store, types=["gone"])

    assert store.settle_overdue(NOON + LEASE - 1, 10, settle(NOON + LEASE - 1)) == 0
    assert store.settle_overdue(NOON + LEASE, 10, settle(NOON + LEASE)) == 1
    assert store.settle_overdue(NOON + LEASE, 10, settle(NOON + LEASE)) == 0


def test_settle_overdue_settles_all_up_to_its_limit_in_several_transactions(store: Store) -> None:
    store.insert_many([pending_job() for _ in range(250)])
    claim(store, limit=250)

    assert store.settle_overdue(NOON + LEASE, 1000, settle(NOON + LEASE)) == 250


def test_settle_overdue_keeps_to_its_limit(store: Store) -> None:
    store.insert_many([pending_job() for _ in range(5)])
    claim(store, limit=5)

    assert store.settle_overdue(NOON + LEASE, 3, settle(NOON + LEASE)) == 3


def test_stats_count_statuses_lanes_and_ages(store: Store) -> None:
    insert(store, priority=Priority.HIGH, run_at=NOON - 7)
    insert(store, priority=Priority.HIGH, run_at=NOON - 3)
    insert(store, type="pdf", run_at=NOON + 1)
    insert(store, type="pdf", priority=Priority.CRITICAL)
    claim_one(store)

    stats = store.stats(NOON + LEASE, None)

    assert stats.exact is counts_exactly(store)
    assert stats.statuses == {
        "email": {Status.PENDING: 2},
        "pdf": {Status.PENDING: 1, Status.RUNNING: 1},
    }
    assert stats.expired_leases == Count(1, False)
    assert stats.oldest_due_at == {30: None, 20: NOON - 7, 10: NOON + 1, 0: None}
    assert (stats.due, store.stats(NOON, None).delayed) == (Count(3, False), Count(1, False))


def test_stats_see_only_the_types_asked_for(store: Store) -> None:
    insert(store)
    insert(store, type="pdf")

    stats = store.stats(NOON, ["pdf", "sync"])

    assert (stats.statuses, stats.due) == ({"pdf": {Status.PENDING: 1}}, Count(1, False))


def test_stats_stop_counting_a_lane_at_a_thousand(store: Store) -> None:
    store.insert_many([pending_job() for _ in range(1001)])
    store.insert_many([pending_job(type="pdf", run_at=NOON + 1) for _ in range(1000)])

    stats = store.stats(NOON, None)

    assert (stats.due, stats.delayed) == (Count(1000, True), Count(1000, False))


def test_check_writable_takes_a_store_that_takes_writes(store: Store) -> None:
    store.check_writable()

    assert store.list(Filter(), 10, None).jobs == []


def test_a_closed_store_opens_again_at_the_next_call(store: Store) -> None:
    job = insert(store)

    store.close()

    assert store.get(job.id) == job
