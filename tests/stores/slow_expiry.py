"""What DynamoDB deletes by itself, and what it must not.

MiniStack looks once a minute, so this is a step of the soak: `pytest tests/stores/slow_expiry.py`.
"""

import json
from collections.abc import Iterator

import pytest

from queuelog_core.clock import SystemClock
from queuelog_core.job import Job
from queuelog_core.stores import Filter, Store
from queuelog_core.stores import dynamodb_items as items
from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client
from queuelog_core.stores.dynamodb_table import LIST, WORK
from tests.support.dynamodb import Engine
from tests.support.engines import contents
from tests.support.servers import eventually
from tests.support.stores import claim, complete, fail, insert

KEPT_DAYS = 30
LONG_AGO_MS = (KEPT_DAYS + 8) * 86_400_000
DELETED_SECONDS = 180.0
TYPES = "T"
"""The item that names the types which ever had a job."""
LARGE = '{"text":"' + "x" * 2000 + '"}'


@pytest.fixture
def store(ministack_engine: Engine) -> Iterator[DynamoDBStore]:
    table = ministack_engine.make_table()
    store = DynamoDBStore(Client(ministack_engine.connect), table, kept_days=KEPT_DAYS)
    yield store
    store.close()


@pytest.fixture
def then() -> int:
    """So long ago that what ended then may be deleted by DynamoDB itself."""
    return SystemClock()() - LONG_AGO_MS


def finished(store: Store, then: int, **fields: object) -> Job:
    made = insert(store, now=then, **fields)
    (job,) = claim(store, then)
    assert job.id == made.id
    return complete(store, job, then)


def in_indexes(store: DynamoDBStore, job: Job) -> int:
    """How many entries of the indexes tell of a job."""
    lanes = [(LIST, items.list_lane(0)), (WORK, items.dead_lane(job.type, 0))]
    found = [
        (index, entry) for index, lane in lanes for entry in store._table.query(index, lane).items
    ]
    return sum(items.read_place(str(entry[index.sort]))[1] == job.id for index, entry in found)


def test_dynamodb_deletes_what_ended_long_ago_and_nothing_else(
    store: DynamoDBStore, then: int
) -> None:
    plain = finished(store, then)
    keyed = finished(store, then, idempotency_key="k")
    large = finished(store, then, payload=LARGE)
    insert(store, now=then, max_retries=0)
    (dead,) = claim(store, then)
    dead = fail(store, dead, then)
    waiting = insert(store, now=then, run_at=then + 2 * LONG_AGO_MS)
    assert [in_indexes(store, job) for job in (plain, dead, waiting)] == [1, 2, 1]

    # Until it is deleted nobody is shown it.
    shown = {job.id for job in store.list(Filter(), 50, None).jobs}
    assert (store.get(plain.id), shown & {plain.id}) == (None, set())
    assert {keyed.id, large.id, waiting.id} <= shown

    eventually(
        lambda: store._table.get(items.job_key(plain.id)) is None,
        "DynamoDB deletes what has expired",
        DELETED_SECONDS,
    )
    assert in_indexes(store, plain) == 0
    left = {job.id for job in store.list(Filter(), 50, None).jobs}
    assert left == {keyed.id, large.id, dead.id, waiting.id}
    for job in (keyed, large, dead, waiting):
        assert store._table.get(items.job_key(job.id)) is not None


def test_the_upkeep_deletes_keys_and_texts_with_what_dynamodb_leaves_to_it(
    store: DynamoDBStore, then: int
) -> None:
    finished(store, then, idempotency_key="k")
    finished(store, then, payload=LARGE)
    waiting = insert(store, now=then, run_at=then + 2 * LONG_AGO_MS, idempotency_key="l")

    assert store.purge(SystemClock()(), 10) == 2

    job, _ = items.job_key(waiting.id)
    kept = {job, str(items.idempotency_item(waiting)["pk"]), TYPES}
    assert {json.loads(line)["pk"]["S"] for line in contents(store)} == kept
