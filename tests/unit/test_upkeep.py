"""The upkeep: one pass settles and purges, and no fault ends it."""

import logging
import threading

import pytest

from queuelog_core import upkeep
from queuelog_core.errors import StoreUnavailable
from queuelog_core.job import Status
from queuelog_core.queue import Queue
from queuelog_core.stores import Store
from queuelog_core.upkeep import keep_up, run_upkeep
from tests.support.factories import LEASE, NOON, FakeClock
from tests.support.http import plain_types
from tests.support.stores import claim_one, complete, insert

DAY = 86_400


@pytest.fixture
def queue(store: Store, clock: FakeClock) -> Queue:
    return Queue(store, plain_types(), clock)


def test_a_pass_settles_leases_and_purges_what_is_past_retention(
    queue: Queue, store: Store, clock: FakeClock
) -> None:
    insert(store)
    insert(store)
    complete(store, claim_one(store))
    claim_one(store, NOON + DAY * 1000)
    clock.now = NOON + DAY * 1000 + LEASE

    run_upkeep(queue, DAY)

    job = store.get(2)
    assert store.get(1) is None
    assert job is not None
    assert job.status is Status.PENDING


@pytest.mark.parametrize("fault", [StoreUnavailable("the disk is full"), ZeroDivisionError()])
def test_a_fault_is_logged_and_the_next_pass_goes_on(
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
) -> None:
    stop = threading.Event()
    passes = 0

    def recover(_: int) -> int:
        nonlocal passes
        passes += 1
        if passes == 1:
            raise fault
        stop.set()
        return 0

    monkeypatch.setattr(upkeep, "EVERY_SECONDS", 0.001)
    monkeypatch.setattr(queue.leases, "recover", recover)
    with caplog.at_level(logging.ERROR):
        keep_up(queue, DAY, stop)

    assert passes == 2
    assert [record.getMessage() for record in caplog.records] == ["upkeep-failed"]
