"""The thread that sends heartbeats, with leases of a second and a clock that really goes on."""

import threading
from typing import Any

import pytest

from queuelog_core.client import Request, Response, Transport
from queuelog_core.clock import monotonic_seconds
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from queuelog_core.worker import Drained, HeldJob
from queuelog_core.worker.beats import Beats
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.worker.scene import SOON, Scene, answer, answer_lost


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


def test_a_handler_that_overstays_keeps_its_slot_and_stops_nobody_else(scene: Scene) -> None:
    slow = scene.api.enqueue(max_retries=0)
    quick: list[Any] = []
    reported = threading.Event()

    def fail(request: Request, send: Transport) -> Response:
        answered = send(request)
        reported.set()
        return answered

    def handle(held: HeldJob) -> str | None:
        if held.id != slow["id"]:
            return None
        assert reported.wait(SOON)
        quick.extend(scene.api.for_a_thread().enqueue() for _ in range(2))
        scene.wire.wait_for("complete", 2)
        return f"lost: {held.lost}"

    scene.wire.plan("fail", fail)
    worker = scene.worker(concurrency=2, monotonic=monotonic_seconds)
    worker.handler("email", timeout=0.2)(handle)
    drained = worker.drain(1_000)

    failed = scene.api.get(slow)
    assert (failed["status"], failed["error_code"]) == ("failed", "timeout")
    assert [scene.api.get(job)["status"] for job in quick] == ["completed"] * 2
    reports = {request.path for verb in ("complete", "fail") for request in scene.wire.sent(verb)}
    assert reports == {"/jobs/1/fail", "/jobs/2/complete", "/jobs/3/complete"}
    assert {body["limit"] for body in scene.wire.bodies("claim")[1:-1]} == {1}
    assert drained == Drained(completed=2, lost=1)


def test_an_odd_answer_does_not_end_the_thread_that_keeps_leases(scene: Scene) -> None:
    scene.api.enqueue()
    scene.wire.plan("heartbeat", answer(200, "not a lease"))

    def handle(_: HeldJob) -> None:
        scene.wire.wait_for("heartbeat", 3)

    assert scene.worker(handle, monotonic=monotonic_seconds).drain(100).completed == 1


def test_the_lease_of_a_claim_counts_from_its_first_sending(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.api.enqueue()
    begun: list[float] = []
    monkeypatch.setattr(Beats, "begin", lambda *call: begun.append(call[-1]))
    scene.wire.plan("claim", answer_lost, answer_lost)
    scene.pauses_max = 3
    asked_at = scene.seconds()

    scene.work(lambda _: None)

    assert scene.pauses[1] > 0
    assert begun == [asked_at]
