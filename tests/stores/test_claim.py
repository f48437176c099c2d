"""Claiming: one attempt of one job goes to one caller, the best due job first."""

from queuelog_core import transitions
from queuelog_core.job import Priority, Status
from queuelog_core.stores import Store
from tests.support.factories import LEASE, NOON, pending_job
from tests.support.stores import claim, claim_one, insert


def test_claim_takes_the_highest_priority_then_the_earliest_then_the_lowest_id(
    store: Store,
) -> None:
    wanted = [
        insert(store, priority=Priority.LOW, run_at=NOON - 9).id,
        insert(store, priority=Priority.HIGH, type="pdf", run_at=NOON).id,
        insert(store, priority=Priority.HIGH, type="sync", run_at=NOON).id,
        insert(store, priority=Priority.HIGH, run_at=NOON - 1).id,
        insert(store, priority=Priority.CRITICAL, run_at=NOON).id,
    ]

    taken = [claim_one(store).id for _ in wanted]

    assert taken == [wanted[4], wanted[3], wanted[1], wanted[2], wanted[0]]


def test_jobs_of_one_instant_are_claimed_in_the_order_of_their_ids(store: Store) -> None:
    """B14: the clock stands still for 50 jobs."""
    ids = [job.id for job, _ in store.insert_many([pending_job() for _ in range(50)])]

    assert [claim_one(store).id for _ in ids] == ids


def test_a_millisecond_decides_whatever_its_digits(store: Store) -> None:
    """B12: an instant with a round fraction is not later than one a millisecond after it."""
    later = insert(store, run_at=NOON + 1)
    sooner = insert(store, run_at=NOON)

    assert [claim_one(store, NOON + 2).id for _ in "ab"] == [sooner.id, later.id]


def test_a_delayed_job_does_not_block_what_is_due(store: Store) -> None:
    """B16."""
    delayed = insert(store, priority=Priority.CRITICAL, run_at=NOON + 3_600_000)
    due = insert(store, priority=Priority.LOW)

    assert claim_one(store).id == due.id
    assert claim(store) == []
    assert claim_one(store, NOON + 3_600_000).id == delayed.id


def test_claim_gives_only_the_types_asked_for(store: Store) -> None:
    insert(store, type="pdf", priority=Priority.CRITICAL)
    email = insert(store, type="email")

    assert [job.id for job in claim(store, types=["email"])] == [email.id]
    assert claim(store, types=["email"]) == []


def test_claim_with_a_limit_takes_the_best_ones_of_all_lanes(store: Store) -> None:
    for number in range(12):
        insert(store, type=("email", "pdf")[number % 2], priority=list(Priority)[number % 4])

    jobs = claim(store, limit=7)

    assert [job.priority for job in jobs] == [30, 30, 30, 20, 20, 20, 10]
    assert [job.id for job in jobs] == [4, 8, 12, 3, 7, 11, 2]


def test_claimed_jobs_carry_their_payload_and_stay_claimed(store: Store) -> None:
    insert(store, payload='{"to":"ada"}')

    job = claim_one(store)

    assert job.payload == '{"to":"ada"}'
    assert store.get(job.id) == job
    assert (job.status, job.attempt, job.lease_expires_at) == (Status.RUNNING, 1, NOON + LEASE)


def test_a_lease_that_ran_out_is_settled_by_the_next_claim_of_its_type(store: Store) -> None:
    insert(store)
    first = claim_one(store)

    again = claim_one(store, NOON + LEASE)

    assert (again.id, again.attempt, again.retry_count) == (first.id, 2, 1)
    assert again.error_code == "lease_expired"


def test_a_lease_is_not_settled_before_its_end_nor_by_claims_of_other_types(store: Store) -> None:
    insert(store)
    job = claim_one(store)

    assert claim(store, NOON + LEASE - 1) == []
    assert claim(store, NOON + LEASE, types=["pdf"]) == []
    assert store.get(job.id) == job


def test_a_claim_settles_the_sixteen_oldest_leases_of_each_type_first(store: Store) -> None:
    for job_type in ("email", "pdf"):
        store.insert_many([pending_job(type=job_type) for _ in range(20)])
    running = [claim_one(store, NOON + n) for n in range(40)]
    due = insert(store, priority=Priority.CRITICAL)

    taken = claim_one(store, NOON + 2 * LEASE)

    statuses = {job.id: now.status for job in running if (now := store.get(job.id))}
    assert taken.id == due.id
    assert [statuses[n] for n in range(1, 17)] == [Status.PENDING] * 16
    assert [statuses[n] for n in range(17, 21)] == [Status.RUNNING] * 4
    assert [statuses[n] for n in range(21, 37)] == [Status.PENDING] * 16
    assert [statuses[n] for n in range(37, 41)] == [Status.RUNNING] * 4


def test_a_claim_that_finds_nothing_due_settles_up_to_sixty_four(store: Store) -> None:
    store.insert_many([pending_job(max_retries=0) for _ in range(70)])
    claim(store, limit=70)

    taken = claim(store, NOON + LEASE)

    counts = store.stats(NOON + LEASE, None).statuses["email"]
    assert taken == []
    assert (counts[Status.FAILED], counts[Status.RUNNING]) == (64, 6)


def test_a_job_that_settles_for_a_later_time_is_not_claimed_at_once(store: Store) -> None:
    insert(store)
    claim_one(store)
    now = NOON + LEASE

    taken = store.claim(
        now,
        ["email"],
        1,
        lambda job: transitions.expire(job, now, 5000),
        lambda job: transitions.claim(job, now, "mailer", LEASE),
    )

    job = store.get(1)
    assert taken.jobs == []
    assert job is not None
    assert (job.status, job.run_at) == (Status.PENDING, NOON + LEASE + 5000)


def test_next_due_at_is_the_earliest_run_or_end_of_a_lease(store: Store) -> None:
    assert store.next_due_at(["email"]) is None

    insert(store, run_at=NOON + 2 * LEASE)
    assert store.next_due_at(["email"]) == NOON + 2 * LEASE
    assert store.next_due_at(["pdf"]) is None

    insert(store)
    claim_one(store)
    assert store.next_due_at(["email", "pdf"]) == NOON + LEASE
