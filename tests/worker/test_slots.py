"""Every job that a worker takes is counted once, whatever races with its end."""

import threading

import pytest

from queuelog_core.worker import Drained, HeldJob
from queuelog_core.worker.slots import Slots
from tests.support.held import held_job
from tests.worker.scene import SOON, Scene

JOBS = 8


def test_a_job_that_was_taken_back_is_not_counted_when_its_handler_ends() -> None:
    leave, told = threading.Event(), list[str]()

    def run(held: HeldJob) -> str:
        leave.wait(SOON)
        return f"end of {held.id}"

    slots = Slots(1, run, told.append)
    first, second = held_job(job_id=1), held_job(job_id=2)
    slots.start(first)
    assert slots.take_back() == [first]
    slots.count("released")
    # The one thread gets to the second job when it is done with the first.
    slots.start(second)
    leave.set()

    assert slots.wait_for_all(SOON)
    slots.close()
    assert slots.outcomes == {"released": 1, "end of 2": 1}
    assert told == ["released", "end of 2"]


@pytest.mark.parametrize("_again", range(10))
def test_jobs_that_end_while_the_worker_hands_back_are_counted_once(
    scene: Scene, _again: int
) -> None:
    for _ in range(JOBS):
        scene.api.enqueue()
    together = threading.Barrier(JOBS)
    told: list[str] = []

    def handle(held: HeldJob) -> None:
        together.wait(SOON)
        worker.stop()
        if held.id % 2:
            # Its end falls into the hand-back, or after it.
            threading.Event().wait(0.002 * held.id)

    worker = scene.worker(handle, concurrency=JOBS, grace_seconds=0)
    drained = worker.drain(1_000, ended=told.append)

    assert sum(drained) == JOBS == len(told)
    assert drained == Drained(**{name: told.count(name) for name in told})
