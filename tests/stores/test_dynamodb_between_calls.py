"""What comes between two calls of one verb: others, or the end."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from queuelog_core.errors import StoreUnavailable
from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores import Filter
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores import dynamodb_purge as purging
from queuelog_core.stores.dynamodb import DynamoDBStore
from tests.support.dynamodb import Engine
from tests.support.dynamodb_faults import Fault, Faulty, Met, lost, throttled
from tests.support.engines import contents
from tests.support.factories import LEASE, NOON, pending_job
from tests.support.stores import claim, claim_one, claims, complete, fail, insert, settle

LARGE = '{"text":"' + "x" * 2_000 + '"}'
LATE = NOON + 10 * LEASE


class Place:
    """A table, and stores on it whose ids never meet."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.table = engine.make_table()
        self.opened: list[DynamoDBStore] = []

    def open(self, client: Any = None, shards: int = 1) -> DynamoDBStore:
        store = self.engine.open(self.table, shards, client=client)
        first = 1 + 1_000 * len(self.opened)
        store._inserts._ids = iter(range(first, first + 1_000)).__next__
        self.opened.append(store)
        return store

    def faulty(self) -> tuple[Faulty, DynamoDBStore]:
        client = Faulty(self.engine.connect())
        return client, self.open(client)


@pytest.fixture
def make_place(dynalite_engine: Engine) -> Iterator[Callable[[], Place]]:
    made: list[Place] = []

    def make() -> Place:
        made.append(Place(dynalite_engine))
        return made[-1]

    yield make
    for place in made:
        for store in place.opened:
            store.close()


@pytest.fixture
def place(make_place: Callable[[], Place]) -> Place:
    return make_place()


def test_jobs_that_were_moved_by_a_process_with_more_shards_are_found_by_all(place: Place) -> None:
    """A deployment that raised the number and was taken back before anybody enqueued."""
    old = place.open()
    ids = [insert(old).id for _ in range(12)]
    new = place.open(shards=4)
    for job in claim(new, limit=12)[:6]:
        fail(new, job)

    back = place.open()
    while jobs := claim(back, LATE, limit=25):
        for job in jobs:
            complete(back, job, LATE)

    found = [back.get(job_id) for job_id in ids]
    assert [job.status for job in found if job] == [Status.COMPLETED] * 12


def large_in_two_lanes(place: Place) -> tuple[Faulty, DynamoDBStore]:
    client, store = place.faulty()
    for priority in (Priority.HIGH, Priority.MEDIUM) * 2:
        insert(store, priority=priority, payload=LARGE)
    client.heal()
    return client, store


def test_a_claim_that_is_throttled_at_any_call_leaves_no_job_to_nobody(
    make_place: Callable[[], Place],
) -> None:
    """B31: with texts beside the jobs, and more than one priority."""
    client, store = large_in_two_lanes(make_place())
    assert len(claim(store, limit=4)) == 4
    for number in range(len(client.calls)):
        client, store = large_in_two_lanes(make_place())
        client.fail_at(number, throttled)

        given = []
        with suppress(StoreUnavailable):
            given = [job.id for job in claim(store, limit=4)]

        client.heal()
        jobs = store.list(Filter(), 10, None).jobs
        running = [job.id for job in jobs if job.status is Status.RUNNING]
        assert sorted(running) == sorted(given), f"call {number}: {client.calls}"


def test_a_claim_whose_answer_came_too_late_gives_no_job_that_runs_no_more(place: Place) -> None:
    """B59: boto3 sends the claim again when its lease is over."""
    other = place.open()
    insert(other)

    def late(name: str, call: Callable[[], Any]) -> Any:
        call()
        other.settle_overdue(NOON + 3_000, 10, settle(NOON + 3_000))
        try:
            return call()
        except ClientError as error:
            error.response.setdefault("ResponseMetadata", {})["RetryAttempts"] = 1
            raise

    client, store = place.faulty()
    client.fail_first("update_item", late)

    given = claim(store, NOON, lease=1_000)

    assert given == []
    assert [job.attempt for job in claim(other, NOON + 3_000)] == [2]


def test_a_planned_job_that_the_key_may_no_longer_have_stays_as_it_is(place: Place) -> None:
    client, store = place.faulty()
    jobs = [insert(store, type=name) for name in ("email", "pdf")]

    def repeat(types: Sequence[str]) -> Sequence[Job]:
        return store.claim(NOON, types, 2, settle(NOON), claims(NOON), b"k").jobs

    client.fail_first("put_item", lost)
    with pytest.raises(StoreUnavailable):
        repeat(["email", "pdf"])
    client.heal()

    repeat(["email"])

    statuses = [job.status for each in jobs if (job := store.get(each.id))]
    assert statuses == [Status.RUNNING, Status.PENDING]


@pytest.mark.parametrize("payload", ["{}", LARGE], ids=["small", "large"])
def test_an_enqueue_that_meets_the_purge_of_its_key_makes_one_job_with_a_new_id(
    place: Place, payload: str
) -> None:
    """B36: between its look at the key and its look at the job."""
    other = place.open()
    first = insert(other, idempotency_key="k", payload=payload)
    complete(other, claim_one(other))
    client = Met(place.engine.connect(), "query", lambda: other.purge(NOON + 1, 10))
    store = place.open(client)

    job, created = store.insert(pending_job(NOON, idempotency_key="k", payload=payload))
    again, created_again = store.insert(pending_job(NOON, idempotency_key="k", payload=payload))

    assert created
    assert job.id != first.id
    assert (again.id, created_again) == (job.id, False)
    assert [one.id for one in store.list(Filter(), 10, None).jobs] == [job.id]


def finished(place: Place) -> tuple[Faulty, DynamoDBStore, list[str]]:
    """A job with texts that is to go, and what is stored without it."""
    client, store = place.faulty()
    insert(store, run_at=LATE)
    before = contents(store)
    insert(store, idempotency_key="k", payload=LARGE)
    complete(store, claim_one(store), result=LARGE)
    client.heal()
    return client, store, before


@pytest.mark.parametrize("fault", [throttled, lost], ids=lambda fault: fault.__name__)
def test_what_a_purge_that_was_cut_off_has_left_goes_with_the_next(
    make_place: Callable[[], Place], fault: Fault
) -> None:
    client, store, _ = finished(make_place())
    assert store.purge(NOON + 1, 10) == 1
    for number in range(len(client.calls)):
        client, store, before = finished(make_place())
        client.fail_at(number, fault)
        with suppress(StoreUnavailable):
            store.purge(NOON + 1, 10)
        client.heal()

        while store.purge(NOON + 1, 10):
            pass

        assert contents(store) == before, f"call {number}"


def test_a_job_that_is_being_purged_is_hidden_and_another_may_have_its_key(place: Place) -> None:
    client, store, _ = finished(place)
    client.fail_first("batch_write_item", throttled)
    with pytest.raises(StoreUnavailable):
        store.purge(NOON + 1, 10)
    client.heal()

    assert store.get(2) is None
    assert [job.id for job in store.list(Filter(), 10, None).jobs] == [1]
    job, created = store.insert(pending_job(NOON, idempotency_key="k", payload=LARGE))
    assert created
    assert job.id == 3


def test_a_purge_to_the_end_passes_over_what_must_stay(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "KEPT_MAX", 3)
    monkeypatch.setattr(purging, "PER_READ", 2)
    store = place.open()
    done = [insert(store) for _ in range(2)]
    for job in claim(store, limit=2):
        complete(store, job)
    for number in range(7):
        insert(store, created_at=NOON - 100 + number, run_at=LATE)

    assert place.open().purge(NOON + 1, 10) == 0
    assert place.open().purge(NOON + 1, 10, to_the_end=True) == len(done)


def test_a_payload_behind_a_mebibyte_of_others_is_read_and_purged(place: Place) -> None:
    """Each enqueue that was cut off may have left one beside the job."""
    texts = ['{"text":"' + f"{number:02}" + "x" * 60_000 + '"}' for number in range(40)]
    texts.sort(key=lambda text: str(items.text_item(1, "payload", text)["sk"]))
    store = place.open()
    empty = contents(store)
    for text in texts[:-1]:
        store._table.put(items.text_item(1, "payload", text))

    job = insert(store, payload=texts[-1])

    found = store.get(job.id)
    assert found is not None
    assert found.payload == texts[-1]
    complete(store, claim_one(store))
    assert store.purge(NOON + 1, 10) == 1
    assert [text for text in contents(store) if '"J#' in text] == empty
