"""A worker can be stopped while its server is away or hangs: nothing is waited for one by one."""

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from queuelog_core.client import Request, Response, Transport
from queuelog_core.worker import Drained, HeldJob
from queuelog_core.worker.beats import Beats
from queuelog_core.worker.signals import STOPPING, on_signals
from tests.worker.scene import SOON, Scene, answer_lost, unheard

REPORT_SECONDS = 0.3


@pytest.fixture(autouse=True)
def short_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuelog_core.worker.run.REPORT_SECONDS", REPORT_SECONDS)


class Hang:
    """An answer that does not come until the test is over."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.over = threading.Event()

    def __call__(self, request: Request, send: Transport) -> Response:
        self.began.set()
        self.over.wait(SOON)
        return unheard(request, send)


@pytest.fixture
def hang() -> Iterator[Hang]:
    hang = Hang()
    yield hang
    hang.over.set()


def test_a_claim_that_hangs_holds_up_no_stop(scene: Scene, hang: Hang) -> None:
    scene.wire.plan("claim", hang)
    worker = scene.worker(lambda _: None)

    def stop_meanwhile() -> None:
        hang.began.wait(SOON)
        worker.stop()

    threading.Thread(target=stop_meanwhile).start()
    began = time.monotonic()
    assert worker.run() == Drained()

    assert time.monotonic() - began < SOON / 2
    assert len(scene.wire.sent("claim")) == 1


def test_what_a_slow_claim_brings_after_the_stop_is_handed_back(scene: Scene) -> None:
    job = scene.api.enqueue()

    def slow(request: Request, send: Transport) -> Response:
        worker.stop()
        threading.Event().wait(REPORT_SECONDS / 3)
        return send(request)

    scene.wire.plan("claim", slow)
    worker = scene.worker(lambda _: None)

    assert worker.run() == Drained(released=1)
    assert scene.api.get(job)["release_count"] == 1


def test_what_a_claim_brings_while_another_job_has_its_grace_is_neither_run_nor_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        scene.api.enqueue()
    calls: list[tuple[str, int]] = []
    for name in ("begin", "end"):
        monkeypatch.setattr(Beats, name, lambda _, held, *__, n=name: calls.append((n, held.id)))

    def stop_meanwhile(request: Request, send: Transport) -> Response:
        worker.stop()
        return send(request)

    def handle(held: HeldJob) -> None:
        assert held.id == 1
        scene.wire.wait_for("release")

    scene.wire.plan("claim", lambda request, send: send(one_job(request)), stop_meanwhile)
    worker = scene.worker(handle, concurrency=2)

    assert worker.run() == Drained(completed=1, released=1)
    assert sorted(calls) == [("begin", 1), ("begin", 2), ("end", 1), ("end", 2)]


def one_job(request: Request) -> Request:
    return request._replace(body=request.body.replace(b'"limit":2', b'"limit":1'))


def test_jobs_that_nobody_takes_back_are_lost_all_at_once(scene: Scene, hang: Hang) -> None:
    for _ in range(3):
        scene.api.enqueue()
    running = threading.Barrier(3)

    def handle(_: HeldJob) -> None:
        running.wait(SOON)
        worker.stop()
        hang.over.wait(SOON)

    scene.wire.plan("release", hang, hang, hang)
    worker = scene.worker(handle, concurrency=3, grace_seconds=0)
    began = time.monotonic()

    assert worker.run() == Drained(lost=3)
    assert time.monotonic() - began < SOON / 2


def test_a_claim_without_an_answer_is_not_sent_again_after_a_second_signal(scene: Scene) -> None:
    def twice(request: Request, send: Transport) -> Response:
        for number in STOPPING:
            signal.raise_signal(number)
        # The main thread hears them when it looks up the next time.
        threading.Event().wait(REPORT_SECONDS / 3)
        return answer_lost(request, send)

    scene.api.enqueue()
    scene.wire.plan("claim", twice)
    scene.work(lambda _: None)

    assert len(scene.wire.sent("claim")) == 1


def test_a_third_signal_does_what_it_does_to_any_process() -> None:
    with on_signals(lambda: None, lambda: None):
        signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL
        signal.raise_signal(signal.SIGINT)
        assert {signal.getsignal(number) for number in STOPPING} == {signal.SIG_DFL}

    assert signal.SIG_DFL not in {signal.getsignal(signal.SIGINT)}


def test_a_stop_ends_one_run_and_the_next_one_works_again(scene: Scene) -> None:
    worker = scene.worker(lambda _: worker.stop())
    for _ in range(2):
        scene.api.enqueue()

    assert worker.drain(1_000) == Drained(completed=1)
    assert worker.drain(1_000) == Drained(completed=1)
    worker.stop()
    assert worker.drain(1_000) == Drained()
    scene.api.enqueue()
    assert worker.drain(1_000) == Drained(completed=1)
