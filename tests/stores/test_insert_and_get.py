"""Storing and reading jobs."""

from queuelog_core.job import Priority
from queuelog_core.stores import Store
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim_one, complete, fail, insert


def test_insert_gives_ids_that_ascend(store: Store) -> None:
    first, second = insert(store), insert(store)

    assert 1 <= first.id < second.id


def test_get_returns_the_job_as_it_was_stored(store: Store) -> None:
    job = pending_job(
        type="pdf",
        payload='{"b":1,"a":"é\\u0000"}',
        priority=Priority.HIGH,
        max_retries=7,
        idempotency_key="kéy",
        fingerprint=b"\x00\xff" * 16,
        run_at=NOON + 1,
    )

    stored, created = store.insert(job)

    assert created
    assert store.get(stored.id) == job._replace(id=stored.id) == stored


def test_get_knows_no_job_that_was_never_stored(store: Store) -> None:
    assert store.get(2**53 - 1) is None


def test_insert_with_a_known_key_returns_the_first_job(store: Store) -> None:
    first = insert(store, idempotency_key="k", payload='{"a":1}')

    again, created = store.insert(pending_job(idempotency_key="k", payload='{"a":2}'))

    assert not created
    assert again == first


def test_a_key_is_known_whatever_became_of_its_job(store: Store) -> None:
    job = insert(store, idempotency_key="k")
    complete(store, claim_one(store), result="[1]")

    again, created = store.insert(pending_job(idempotency_key="k"))

    assert (again.id, again.result, created) == (job.id, "[1]", False)


def test_keys_live_per_producer_and_are_compared_byte_for_byte(store: Store) -> None:
    first = insert(store, idempotency_key="key")

    others = [
        store.insert(pending_job(idempotency_key="key", producer_id="blog")),
        store.insert(pending_job(idempotency_key="KEY")),
        store.insert(pending_job(idempotency_key="key ")),
    ]

    assert all(created for _, created in others)
    assert len({first.id, *(job.id for job, _ in others)}) == 4


def test_insert_many_answers_each_job_in_order(store: Store) -> None:
    known = insert(store, idempotency_key="k")

    answers = store.insert_many(
        [
            pending_job(type="pdf"),
            pending_job(idempotency_key="k"),
            pending_job(idempotency_key="new"),
            pending_job(idempotency_key="new"),
        ]
    )

    assert [created for _, created in answers] == [True, False, True, False]
    assert answers[1][0].id == known.id
    assert answers[2][0].id == answers[3][0].id


def test_an_error_text_is_read_with_the_job_whose_newest_failure_it_is(store: Store) -> None:
    insert(store)
    fail(store, claim_one(store), error="first")
    job = fail(store, claim_one(store), error="second")

    read = store.get(job.id)

    assert read is not None
    assert (read.error, read.error_attempt) == ("second", 2)


def test_a_failure_without_a_text_hides_the_text_of_the_one_before(store: Store) -> None:
    insert(store)
    fail(store, claim_one(store), error="first")
    job = fail(store, claim_one(store))

    read = store.get(job.id)

    assert read is not None
    assert read.error is None


def test_texts_of_attempts_that_left_the_history_are_deleted(store: Store) -> None:
    insert(store, max_retries=25)
    for number in range(15):
        job = fail(store, claim_one(store), error=f"error {number}")

    read = store.get(job.id)

    assert read is not None
    assert [entry.attempt for entry in read.history] == list(range(6, 16))
    assert read.error == "error 14"
