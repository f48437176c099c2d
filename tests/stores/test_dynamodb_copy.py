"""Copies to and from a table on a bad day, and what only a table has: shards, expiry, a bill."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from botocore.exceptions import ReadTimeoutError

from queuelog_core.clock import SystemClock
from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.job import Status
from queuelog_core.stores import Store, open_store
from queuelog_core.stores import dynamodb_copy as copying
from queuelog_core.stores.copied import Copied
from queuelog_core.stores.copying import copy_jobs, find_foreign
from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client
from tests.stores.test_copy import copied_over, nothing
from tests.support.copy_place import numbers, side
from tests.support.dynamodb import Engine
from tests.support.dynamodb_faults import Fault, Faulty, lost, sent_twice, throttled
from tests.support.factories import job_in, pending_job
from tests.support.seeds import seed
from tests.support.stores import claim, claim_one, complete, fail, insert

DAY = 86_400_000
LARGE = '{"text":"' + "x" * 2_000 + '"}'


@pytest.fixture
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Jobs with keys, texts and results."""
    url = f"sqlite:///{tmp_path_factory.mktemp('file')}/queuelog.db"
    with closing(open_store(url)) as store:
        for number in range(2):
            insert(store, idempotency_key=f"k{number}", payload=LARGE)
            fail(store, claim_one(store), error="smtp down")
            complete(store, claim_one(store), result=LARGE)
        insert(store, idempotency_key="waits")
        yield store


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses take next to no time."""
    monkeypatch.setattr(copying, "PAUSE_SECONDS", 0.0001)
    monkeypatch.setattr(copying, "PAUSE_SECONDS_MAX", 0.001)


def as_engine(engine: Engine) -> tuple[Faulty, DynamoDBStore]:
    client = Faulty(engine.connect())
    return client, engine.open(engine.make_table(), client=client)


def test_a_copy_waits_out_what_throttles_it(
    dynalite_engine: Engine, file: Store, quick: None
) -> None:
    client, table = as_engine(dynalite_engine)
    client.fail_sometimes({throttled: 0.4}, random.Random(seed()))

    assert copied_over(file, table) == 3

    client.heal()
    assert copied_over(file, table) == 0


def test_a_copy_that_is_throttled_for_good_ends(
    dynalite_engine: Engine, file: Store, quick: None
) -> None:
    client, table = as_engine(dynalite_engine)
    client.fail_sometimes({throttled: 1.0}, random.Random(1))

    with pytest.raises(StoreUnavailable, match="ProvisionedThroughputExceeded"):
        copy_jobs(side(file), side(table), nothing)


def never_sent(name: str, _: Callable[[], Any]) -> Any:
    """Nothing is done."""
    raise ReadTimeoutError(endpoint_url=f"dynamodb/{name}")


@pytest.mark.parametrize("fault", [never_sent, lost, sent_twice])
def test_a_copy_that_loses_an_answer_at_any_call_is_made_again(
    dynalite_engine: Engine, file: Store, fault: Fault
) -> None:
    broken = number = 0
    while True:
        client, table = as_engine(dynalite_engine)
        client.fail_at(number, fault)
        try:
            copied = copy_jobs(side(file), side(table), nothing)
            assert copied == 3
        except StoreUnavailable:
            broken += 1
        calls = len(client.calls)
        client.heal()
        assert find_foreign(side(file), side(table), nothing) == []
        copied_over(file, table)
        assert numbers(table) == numbers(file)
        assert not table.insert(pending_job(idempotency_key="k0"))[1]
        assert not table.insert(pending_job(idempotency_key="waits"))[1]
        if number >= calls:
            break
        number += 1
    assert number > 12
    assert broken == (0 if fault is sent_twice else number)


@pytest.mark.parametrize("shards", [(1, 3), (3, 1)])
def test_a_table_is_copied_to_one_with_other_shards(
    dynalite_engine: Engine, file: Store, shards: tuple[int, int]
) -> None:
    """The way to fewer of them: a number of shards itself never shrinks."""
    first, second = (dynalite_engine.open(dynalite_engine.make_table(), n) for n in shards)
    copied_over(file, first)
    for _ in range(7):
        insert(first, type="pdf")

    assert copied_over(first, second) == 10
    assert numbers(second) == numbers(first)
    assert [job.id for job in claim(second, limit=9)] == [job.id for job in claim(first, limit=9)]


def test_a_job_whose_payload_is_lost_is_not_copied_as_an_empty_one(
    moto_engine: Engine, file: Store
) -> None:
    table = moto_engine.open(moto_engine.make_table())
    waiting, done = insert(table, payload=LARGE), insert(table, payload=LARGE)
    assert claim_one(table).id == waiting.id
    complete(table, claim_one(table))
    for job in (waiting, done):
        _lose_payload(table, job.id)
    with pytest.raises(ConfigError, match=f"the payload of job {waiting.id} is lost"):
        copy_jobs(side(table), side(file), nothing)
    assert table.get(done.id) is not None


def _lose_payload(table: DynamoDBStore, job_id: int) -> None:
    jobs = cast(Any, table)._jobs
    found = jobs.read(job_id)
    jobs.table.delete_many([(found[0].item["pk"], found[0].item["pb"])])


def test_what_is_past_its_retention_is_copied_too_and_left_to_the_upkeep(
    moto_engine: Engine,
) -> None:
    name, now = moto_engine.make_table(), SystemClock()()
    table = DynamoDBStore(Client(moto_engine.connect), name, kept_days=30)
    old, new = (job_in(Status.COMPLETED, now - days * DAY)._replace(id=days) for days in (60, 1))
    keyed = job_in(Status.COMPLETED, now, idempotency_key="k")._replace(id=2)
    waiting = pending_job(id=3)

    side(table).put([Copied(job, {}) for job in (old, new, keyed, waiting)])

    assert [table.get(job.id) for job in (old, new, keyed, waiting)] == [old, new, keyed, waiting]
    items = {key: cast(Any, table)._table.get((f"J#{key}", "M")) for key in (60, 1, 2, 3)}
    expiry = {key: item["x"] for key, item in items.items() if "x" in item}
    assert expiry == {1: (now - DAY) // 1000 + 37 * 86_400}


@pytest.mark.parametrize(
    ("units", "fields"),
    [
        (3, {}),
        (4, {"idempotency_key": "order-0123456789"}),
        (7, {"payload": '{"text":"' + "x" * 4_000 + '"}'}),
        (62, {"payload": '{"text":"' + "x" * 60_000 + '"}'}),
    ],
)
def test_the_estimate_is_what_an_enqueue_costs(
    moto_engine: Engine, units: int, fields: dict[str, Any]
) -> None:
    """docs/stores.md has the same numbers, which are measured."""
    table = moto_engine.open("never-made")

    assert side(table).write_units(Copied(pending_job(id=2**52, **fields), {})) == units


def test_the_estimate_counts_a_finished_job_with_its_texts(moto_engine: Engine) -> None:
    table = moto_engine.open("never-made")
    done = job_in(Status.COMPLETED)._replace(result=LARGE, id=1)
    dead = job_in(Status.FAILED)._replace(error="boom", error_attempt=1, id=2)

    assert side(table).write_units(Copied(done, {})) == 5
    assert side(table).write_units(Copied(dead, {1: "boom"})) == 4
