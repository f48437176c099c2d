"""The thread that sends heartbeats, with leases of a second and a clock that really goes on."""

import threading

import pytest

from queuelog_core.clock import monotonic_seconds
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from queuelog_core.worker import HeldJob
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.worker.scene import Scene, answer


@pytest.fixture
def api(store: Store, clock: FakeClock) -> Api:
    return Api(store, clock, JobTypes({"email": Policy(lease_seconds=1)}))


def test_beats_go_on_while_a_handler_runs_and_end_with_it(scene: Scene) -> None:
    job = scene.api.enqueue()

    def handle(held: HeldJob) -> bool:
        scene.wire.wait_for("heartbeat")
        scene.api.for_a_thread().call("POST", f"/jobs/{job['id']}/cancel")
        seen = len(scene.wire.sent("heartbeat"))
        scene.wire.wait_for("heartbeat", seen + 2)
        return held.cancel_requested

    drained = scene.worker(handle, monotonic=monotonic_seconds).drain(100)

    assert drained.completed == 1
    assert scene.api.get(job)["result"] is True
    sent = scene.wire.requests
    done = next(n for n, request in enumerate(sent) if request.path.endswith("/complete"))
    assert not any(request.path.endswith("/heartbeat") for request in sent[done:])


def test_no_report_is_sent_for_a_job_that_was_lost(scene: Scene) -> None:
    scene.api.enqueue()
    scene.wire.plan("heartbeat", answer(409, "lease-lost"))
    lost = threading.Event()

    def handle(held: HeldJob) -> None:
        scene.wire.wait_for("heartbeat")
        while not held.lost:
            lost.wait(0.01)

    scene.worker(handle, monotonic=monotonic_seconds).run()

    assert scene.wire.sent("complete") == scene.wire.sent("fail") == []
