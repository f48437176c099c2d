"""How a worker ends: stop, signals, the grace period, and what is handed back."""

import signal
import threading
from typing import Any

import pytest

from queuelog_core.client import Request, Response, Transport
from queuelog_core.worker import Drained, HeldJob, Worker
from queuelog_core.worker.signals import Bell, on_signals
from tests.worker.scene import SOON, Scene, answer_lost, raising


def heard_by(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the worker has heard the first signal, which its main thread does."""
    heard, stop = threading.Event(), worker.stop

    def stop_and_tell() -> None:
        stop()
        heard.set()

    monkeypatch.setattr(worker, "stop", stop_and_tell)
    return heard


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_running_job_end_and_claims_nothing_more(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    jobs = [scene.api.enqueue() for _ in range(2)]
    before = signal.getsignal(number)

    def handle(_: HeldJob) -> str:
        signal.raise_signal(number)
        assert heard.wait(SOON)
        return "done"

    scene.pauses_max = 100
    worker = scene.worker(handle)
    heard = heard_by(worker, monkeypatch)
    worker.run()

    assert [scene.api.get(job)["status"] for job in jobs] == ["completed", "pending"]
    assert len(scene.wire.sent("claim")) == 1
    assert signal.getsignal(number) is before


def test_a_worker_that_was_stopped_before_claims_nothing(scene: Scene) -> None:
    scene.api.enqueue()
    worker = scene.worker(lambda _: None)
    worker.stop()

    worker.run()

    assert scene.wire.requests == []


def overstaying(on_start: Any) -> tuple[Any, threading.Event]:
    """A handler that is there until its event is set."""
    leave = threading.Event()

    def handle(_: HeldJob) -> None:
        on_start()
        leave.wait(SOON)

    return handle, leave


def test_a_job_beyond_the_grace_period_is_released_without_a_retry_spent(scene: Scene) -> None:
    job = scene.api.enqueue()

    def stop() -> None:
        scene.seconds.step = 1.0
        worker.stop()

    handle, leave = overstaying(stop)
    worker = scene.worker(handle, grace_seconds=25)
    worker.handler("email", timeout=10_000)(handle)
    worker.run()

    back = scene.api.get(job)
    leave.set()
    assert (back["status"], back["retry_count"], back["release_count"]) == ("pending", 0, 1)


def test_a_second_signal_hands_the_jobs_back_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = scene.api.enqueue()

    def twice() -> None:
        signal.raise_signal(signal.SIGTERM)
        threading.Thread(target=again, daemon=True).start()

    def again() -> None:
        assert heard.wait(SOON)
        signal.raise_signal(signal.SIGINT)

    handle, leave = overstaying(twice)
    worker = scene.worker(handle, grace_seconds=10_000)
    heard = heard_by(worker, monkeypatch)
    worker.run()

    back = scene.api.get(job)
    leave.set()
    assert (back["status"], back["release_count"]) == ("pending", 1)


def test_jobs_that_a_claim_brings_after_the_stop_are_released(scene: Scene) -> None:
    jobs = [scene.api.enqueue() for _ in range(2)]
    worker = scene.worker(lambda _: "run", concurrency=2)

    def stop_meanwhile(request: Request, send: Transport) -> Response:
        worker.stop()
        return send(request)

    scene.wire.plan("claim", stop_meanwhile)
    worker.run()

    found = [scene.api.get(job) for job in jobs]
    assert [(job["status"], job["release_count"]) for job in found] == [("pending", 1)] * 2
    assert scene.wire.sent("complete") == []


def test_jobs_of_a_claim_without_an_answer_are_handed_back_when_a_drain_ends(scene: Scene) -> None:
    jobs = [scene.api.enqueue() for _ in range(2)]
    scene.pauses_max = 100

    def answer_too_late(request: Request, send: Transport) -> Response:
        scene.advance(10)
        return answer_lost(request, send)

    scene.wire.plan("claim", answer_too_late)
    drained = scene.worker(raising(AssertionError()), concurrency=2).drain(65)

    assert drained == Drained(released=2)
    found = [scene.api.get(job) for job in jobs]
    assert [(job["status"], job["release_count"]) for job in found] == [("pending", 1)] * 2
    first, repeat = scene.wire.sent("claim")
    assert (first.body, first.headers) == (repeat.body, repeat.headers)


def test_a_worker_outside_of_the_main_thread_leaves_signals_alone(scene: Scene) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    seen: list[Any] = []

    def handle(_: HeldJob) -> None:
        seen.extend(signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM))

    scene.api.enqueue()
    thread = threading.Thread(target=scene.work, args=(handle,))
    thread.start()
    thread.join(SOON)

    assert seen == before


def test_a_signal_may_interrupt_the_answer_to_a_signal() -> None:
    bell, calls = Bell(), []

    def stop() -> None:
        calls.append("stop")
        if len(calls) == 1:
            signal.raise_signal(signal.SIGTERM)
        bell.ring()

    with on_signals(stop, lambda: calls.append("hurry")):
        signal.raise_signal(signal.SIGTERM)

    bell.wait(SOON)
    assert bell.has_rung() and calls == ["stop", "hurry"]


def test_a_report_that_is_under_way_when_the_grace_ends_is_sent_before_the_worker_ends(
    scene: Scene,
) -> None:
    job = scene.api.enqueue()
    ended = threading.Event()

    def slow(request: Request, send: Transport) -> Response:
        worker.stop()
        scene.seconds.step = 30.0
        ended.wait(0.5)
        return send(request)

    scene.wire.plan("complete", slow)
    worker = scene.worker(lambda _: None)
    done = worker.run()

    at_the_end = scene.api.get(job)["status"]
    ended.set()
    assert at_the_end == "completed"
    assert (done.completed, done.lost) == (1, 0)


def test_a_report_that_nobody_answers_in_the_end_counts_as_lost(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.api.enqueue()
    ended = threading.Event()

    def never(request: Request, send: Transport) -> Response:
        worker.stop()
        scene.seconds.step = 30.0
        ended.wait()
        return send(request)

    monkeypatch.setattr("queuelog_core.worker.run.REPORT_SECONDS", 0.01)
    scene.wire.plan("complete", never)
    worker = scene.worker(lambda _: None)

    assert worker.run() == Drained(lost=1)
    ended.set()
