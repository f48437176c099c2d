"""What a job costs in DynamoDB, in the request units that its bill counts."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from queuelog_core import transitions
from queuelog_core.documents import short_digest
from queuelog_core.job import Job, Status
from queuelog_core.reports import Report, Verb
from queuelog_core.stores.copied import Copied
from queuelog_core.stores.dynamodb import DynamoDBStore
from tests.support.copy_place import side
from tests.support.dynamodb import Engine, Metered
from tests.support.factories import LEASE, NOON, job_in, pending_job
from tests.support.stores import claim, insert

JOBS = 4
META_BYTES_MAX = 1024
NEW = 2**52


class Life(NamedTuple):
    """A way of a job, and the write units of it."""

    units: float
    payload_bytes: int = 400
    key: str | None = None
    failures: int = 0
    error: str | None = None
    heartbeats: int = 0


LIVES = {
    "small": Life(8, payload_bytes=60),
    "with a key": Life(9, key="order-0123456789"),
    "one failure": Life(14, failures=1),
    "one failure with a text": Life(15, failures=1, error="smtp.example.com does not answer"),
    "two heartbeats": Life(14, heartbeats=2),
    "4 KiB": Life(12, payload_bytes=4_000),
    "60 KiB": Life(67, payload_bytes=60_000),
}


LARGE = '{"text":"' + "x" * 4_000 + '"}'
DEAD = job_in(Status.FAILED)._replace(error="boom", error_attempt=1)
COPIES = {
    "pending": Copied(pending_job(id=NEW), {}),
    "pending, with a key and 4 KiB": Copied(
        pending_job(id=NEW, idempotency_key="order-0123456789", payload=LARGE), {}
    ),
    "completed": Copied(job_in(Status.COMPLETED)._replace(id=NEW, result="[1]"), {}),
    "completed, with texts": Copied(
        job_in(Status.COMPLETED)._replace(id=NEW, payload=LARGE, result=LARGE), {}
    ),
    "failed": Copied(DEAD._replace(id=NEW), {1: "boom"}),
    "cancelled": Copied(job_in(Status.CANCELLED)._replace(id=NEW), {}),
}


@pytest.fixture
def meter(ministack_engine: Engine) -> Metered:
    return Metered(ministack_engine.connect())


@pytest.fixture
def store(ministack_engine: Engine, meter: Metered) -> Iterator[DynamoDBStore]:
    """One that has seen a job of the type, and so knows what each process learns once."""
    store = ministack_engine.open(ministack_engine.make_table(), client=meter)
    insert(store)
    claim(store)
    yield store
    store.close()


def said(verb: Verb, job: Job) -> Report:
    return Report(verb, "mailer", job.attempt, short_digest([verb.value, job.id]))


def fail(job: Job, error: str | None) -> Job:
    report = said(Verb.FAIL, job)
    return transitions.fail(job, NOON, report, delay=1, error=error, error_code="smtp_down")


def beat(job: Job, number: int) -> Job:
    return transitions.heartbeat(
        job, NOON + 5 * number, said(Verb.HEARTBEAT, job), LEASE, 9 * LEASE
    )


def complete(job: Job) -> Job:
    return transitions.complete(job, NOON + 99, said(Verb.COMPLETE, job), '{"sent":true}')


def live(store: DynamoDBStore, life: Life, step: Callable[..., Any]) -> None:
    payload = f'{{"text":"{"x" * (life.payload_bytes - 11)}"}}'
    fields = {"payload": payload, "idempotency_key": life.key, "fingerprint": b"f" * 32}
    step("enqueue", lambda: insert(store, **fields))
    for _ in range(life.failures):
        job = step("claim", lambda: claim(store, NOON, ["email"])[0])
        step("fail", store.update, job.id, lambda job: fail(job, life.error))
    job = step("claim", lambda: claim(store, NOON + 1, ["email"])[0])
    for number in range(1, life.heartbeats + 1):
        step("heartbeat", store.update, job.id, lambda job, number=number: beat(job, number))
    step("complete", store.update, job.id, complete)


@pytest.mark.parametrize("name", LIVES)
def test_a_life_takes_so_many_write_units(store: DynamoDBStore, meter: Metered, name: str) -> None:
    told = []

    def step(what: str, call: Callable[..., Any], *given: Any) -> Any:
        read, written = meter.read, meter.written
        answer = call(*given)
        told.append((what, meter.written - written, meter.read - read))
        return answer

    # What is counted once a second in a process is no part of a life.
    store._tally._write_at = float("inf")
    live(store, LIVES[name], step)

    print(name, told)  # noqa: T201
    assert sum(written for _, written, _ in told) == LIVES[name].units


@pytest.mark.parametrize("name", COPIES)
def test_a_copied_job_takes_the_write_units_of_the_estimate(
    store: DynamoDBStore, meter: Metered, name: str
) -> None:
    copied = side(store)
    written = meter.written

    copied.put([COPIES[name]])

    assert meter.written - written == copied.write_units(COPIES[name])


def test_an_empty_claim_reads_each_lane_once(store: DynamoDBStore, meter: Metered) -> None:
    read = meter.read

    claim(store, NOON, ["pdf"])

    assert meter.read - read == 5 * 0.5


def test_a_job_at_its_first_attempt_is_billed_as_one_kibibyte(
    store: DynamoDBStore, ministack_engine: Engine
) -> None:
    longest: dict[str, Any] = {
        "payload": '"' + "x" * 510 + '"',
        "idempotency_key": "0123456789abcdef" * 2,
        "fingerprint": b"f" * 32,
        "producer_id": "a-producer-with-a-name",
    }
    job = insert(store, **longest)
    claim(store)

    item = store._table.get((f"J#{job.id}", "M"))

    assert item is not None
    assert sum(len(name) + size(value) for name, value in item.items()) <= META_BYTES_MAX


def size(value: Any) -> int:
    """Bytes of a value, as DynamoDB counts them."""
    if isinstance(value, int):
        return (len(str(value)) + 1) // 2 + 1
    return len(value.encode() if isinstance(value, str) else value)
