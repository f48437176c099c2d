"""Every job that a worker takes is counted once, whatever races with its end."""

import threading
from queue import SimpleQueue

import pytest

from queuelog_core.worker import Drained, HeldJob
from queuelog_core.worker.slots import Slots
from tests.support.held import held_job
from tests.worker.scene import SOON, Scene

JOBS = 8


def test_a_job_that_was_taken_back_is_not_counted_when_its_handler_ends() -> None:
    leave, told = threading.Event(), list[str]()
    running: SimpleQueue[threading.Thread] = SimpleQueue()

    def run(held: HeldJob) -> str:
        running.put(threading.current_thread())
        leave.wait(SOON)
        return f"end of {held.id}"

    slots = Slots(1, run, told.append)
    first = held_job()
    slots.start(first)
    thread = running.get(timeout=SOON)
    assert slots.take_back() == [first]
    leave.set()
    slots.close()
    thread.join(SOON)
    slots.count(first, "released")

    assert slots.outcomes == {"released": 1}
    assert told == ["released"]


def test_a_job_that_comes_too_late_is_not_run_and_stays_the_callers() -> None:
    told: list[str] = []
    slots = Slots(1, lambda _: "run", told.append)
    slots.shut()
    held = held_job()

    assert not slots.start(held)
    assert slots.take_back() == []
    assert not slots.wait_for_all(0)
    slots.give_up()
    slots.count(held, "released")

    assert told == ["lost"]
    assert slots.outcomes == {"lost": 1}


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


def test_an_end_is_noticed_also_when_it_comes_before_somebody_waits_for_it() -> None:
    slots = Slots(1, lambda _: "run", lambda _: None)
    assert not slots.wait_for_an_end(slots.ended(), SOON)

    before = slots.ended()
    slots.start(held_job())
    assert slots.wait_for_all(SOON)

    assert slots.wait_for_an_end(before, SOON)
    assert not slots.wait_for_an_end(slots.ended(), SOON)
    slots.close()
