"""The clock of the queue for tests: what becomes due when, and what a call that waits does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queuelog_core.testing import LocalQueue
from queuelog_core.worker import Drained, HeldJob
from tests.worker.scene import Seen


def test_time_stands_still_until_it_is_moved(queue: LocalQueue) -> None:
    began = queue.time
    assert abs(began - datetime.now(UTC)) < timedelta(minutes=10)
    job = queue.client.enqueue("email", run_at=began + timedelta(days=2, hours=1, minutes=2))

    queue.run_due()
    assert queue.time == began
    queue.advance(days=2, hours=1, minutes=1, seconds=59)
    assert queue.run_due() == Drained()
    queue.advance(1)
    assert queue.run_due() == Drained(completed=1)
    assert queue.client.get(job.id).finished_at == job.run_at == queue.time


def test_a_producer_that_waits_lets_time_pass_and_jobs_run(queue: LocalQueue) -> None:
    job = queue.client.enqueue("email", {"to": "ada"}, delay_seconds=60)
    began = queue.time

    assert queue.client.wait(job.id).result == {"to": "ada"}
    assert timedelta(seconds=60) <= queue.time - began <= timedelta(seconds=65)


def test_a_handler_may_wait_for_a_job_of_its_own(queue: LocalQueue, seen: Seen) -> None:
    def handle(held: HeldJob) -> Any:
        if not held.payload:
            return queue.client.wait(queue.client.enqueue("email", {"of": held.id}).id).result
        return held.payload

    seen.handle = handle
    job = queue.client.enqueue("email")

    queue.run_due()

    assert queue.client.get(job.id).result == {"of": job.id}


@pytest.mark.parametrize("seconds", [0.0001, 300])
def test_waiting_for_a_job_that_nobody_runs_ends_in_its_fake_time(seconds: float) -> None:
    with LocalQueue(job_types=["email"]) as queue:
        job = queue.client.enqueue("email")
        began = queue.time

        assert queue.run_due() == Drained()
        with pytest.raises(TimeoutError, match="still pending"):
            queue.client.wait(job.id, timeout_seconds=seconds)
        assert 0 <= (queue.time - began).total_seconds() - seconds <= 0.001


def test_a_lease_runs_out_when_the_clock_says_so(queue: LocalQueue) -> None:
    queue.client.enqueue("email")
    queue.admin.claim(["email"], lease_seconds=30)

    queue.advance(31)
    queue.run_due()
    queue.advance(minutes=1)

    assert queue.run_due() == Drained(completed=1)
    assert [each.outcome for each in queue.admin.attempts(1).attempts] == ["expired", "completed"]
