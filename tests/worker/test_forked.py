"""One worker across a fork."""

import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

import pytest

from queuelog_core.clock import monotonic_seconds
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from queuelog_core.worker import Drained, HeldJob, Worker
from queuelog_core.worker.beats import Beats
from queuelog_core.worker.signals import on_signals
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.worker.scene import SOON, Scene

FORK = multiprocessing.get_context("fork")

# Python warns of forks beside threads, which is what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture
def api(store: Store, clock: FakeClock) -> Api:
    return Api(store, clock, JobTypes({"email": Policy(lease_seconds=1)}))


def exit_code_of(work: Callable[..., None], *arguments: Any) -> int | None:
    """How a forked child ends, which has three times as long as what it waits for."""
    child = FORK.Process(target=work, args=arguments)
    child.start()
    child.join(3 * SOON)
    child.kill()
    return child.exitcode


def drain(worker: Worker, expected: Drained) -> None:
    assert worker.drain(1_000) == expected


def test_leases_are_kept_in_a_child_whose_parent_has_worked_before(scene: Scene) -> None:
    def handle(held: HeldJob) -> None:
        if held.id > 1:
            scene.wire.wait_for("heartbeat", 2 * held.id)

    worker = scene.worker(handle, monotonic=monotonic_seconds)
    scene.api.enqueue()
    drain(worker, Drained(completed=1))
    for _ in range(2):
        scene.api.enqueue()

    assert exit_code_of(drain, worker, Drained(completed=2)) == 0


def test_a_handler_overstays_in_a_child_whose_parent_has_worked_before(scene: Scene) -> None:
    worker = scene.worker(lambda _: None, monotonic=monotonic_seconds)
    scene.api.enqueue()
    drain(worker, Drained(completed=1))
    worker.handler("email", timeout=0.1)(lambda _: scene.wire.wait_for("fail"))
    scene.api.enqueue(max_retries=0)

    assert exit_code_of(drain, worker, Drained(lost=1)) == 0


def test_a_child_keeps_no_lease_of_its_parents(scene: Scene) -> None:
    beats = Beats(scene.client, scene.seconds)
    jobs = [scene.api.enqueue() for _ in range(2)]
    of_parent, of_child = map(HeldJob, scene.client.claim(["email"], limit=len(jobs)).jobs)
    beats.begin(of_parent, 1_000, scene.seconds())

    def beat() -> None:
        """Of the two, the beat of the parent's job would be due first."""
        scene.seconds.now += 10
        beats.begin(of_child, 1_000, scene.seconds() - 1)
        scene.wire.wait_for("heartbeat")
        assert scene.wire.sent("heartbeat")[0].path == f"/jobs/{of_child.id}/heartbeat"

    assert exit_code_of(beat) == 0


def test_a_worker_that_was_stopped_in_the_parent_works_in_the_child(scene: Scene) -> None:
    worker = scene.worker(lambda _: None)
    scene.api.enqueue()
    worker.stop()

    assert exit_code_of(drain, worker, Drained(completed=1)) == 0


def wait_for_a_signal(ready: Any) -> None:
    ready.set()
    signal.pause()


def test_a_signal_to_what_a_handler_has_forked_is_not_taken_for_one_to_the_worker() -> None:
    calls: list[str] = []
    ready = FORK.Event()
    with on_signals(lambda: calls.append("stop"), lambda: calls.append("hurry")):
        child = FORK.Process(target=wait_for_a_signal, args=(ready,))
        child.start()
        assert ready.wait(SOON)
        child.terminate()
        child.join(SOON)
        code = child.exitcode
        child.kill()
        signal.raise_signal(signal.SIGTERM)

    assert code == -signal.SIGTERM
    assert calls == ["stop"]
