"""What the use cases decide by themselves."""

from queuelog_core.leases import Wanted
from queuelog_core.queue import Queue
from queuelog_core.stores import Store
from tests.support.factories import LEASE, NOON, FakeClock, new_job, producer, worker
from tests.support.http import plain_types


class Ticking(FakeClock):
    """A clock that goes on by a second whenever it is read."""

    def __call__(self) -> int:
        self.advance(1)
        return self.now


def test_a_lease_begins_when_it_is_granted_and_not_when_it_was_asked_for(store: Store) -> None:
    clock = Ticking()
    queue = Queue(store, plain_types(), clock)
    queue.enqueue(producer(), new_job())

    (job,) = queue.leases.claim(worker(), Wanted()).jobs

    asked_at, granted_at = NOON + 2000, NOON + 3000
    assert job is not None
    assert job.claimed_at == granted_at > asked_at
    assert job.lease_expires_at == granted_at + LEASE


def test_a_report_is_dated_when_it_is_recorded(store: Store) -> None:
    clock = Ticking()
    queue = Queue(store, plain_types(), clock)
    queue.enqueue(producer(), new_job())
    (job,) = queue.leases.claim(worker(), Wanted()).jobs
    assert job is not None

    reported = queue.leases.complete(worker(), job.id, job.attempt, None)

    assert reported.job.finished_at == clock.now


def test_a_key_without_any_type_of_the_registry_gets_nothing(store: Store) -> None:
    queue = Queue(store, plain_types("email"), FakeClock())
    queue.enqueue(producer(), new_job())

    idle = worker(types=frozenset({"pdf"}))

    assert queue.leases.claim(idle, Wanted()).jobs == []
    assert queue.leases.poll_after_seconds(idle, None) == 5
