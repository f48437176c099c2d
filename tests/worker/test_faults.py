"""What a worker tells of faults, which of them end it, and how long it waits for the others."""

import json
import threading

import pytest

from queuelog_core.client import (
    ClientError,
    Forbidden,
    Request,
    Response,
    Transport,
    Unauthorized,
    Unreachable,
    ValidationFailed,
)
from queuelog_core.worker import Drained, HeldJob
from tests.worker.scene import SOON, Answer, Scene, answer, raising, unheard

REFUSALS = [
    (answer(401, "unauthorized"), Unauthorized),
    (answer(403, "forbidden"), Forbidden),
    (answer(422, "validation-failed"), ValidationFailed),
]
EMPTY = {"jobs": [], "next_due_in_seconds": 1}


def nothing_is_due(_request: Request, _send: Transport) -> Response:
    return Response(200, {}, json.dumps(EMPTY).encode())


@pytest.mark.parametrize(("refusal", "kind"), REFUSALS)
def test_a_worker_whose_first_claim_is_refused_ends_with_the_refusal(
    scene: Scene, refusal: Answer, kind: type[ClientError]
) -> None:
    scene.wire.plan("claim", unheard, refusal)
    scene.pauses_max = 10

    with pytest.raises(kind):
        scene.work(lambda _: None)

    assert len(scene.wire.sent("claim")) == 2


@pytest.mark.parametrize(("refusal", "kind"), REFUSALS)
def test_a_drain_ends_with_any_refusal_of_a_claim(
    scene: Scene, refusal: Answer, kind: type[ClientError]
) -> None:
    job = scene.api.enqueue()
    scene.wire.plan("claim", lambda request, send: send(request), refusal)

    with pytest.raises(kind):
        scene.worker(lambda _: None).drain(1_000)

    assert scene.pauses == []
    assert scene.api.get(job)["status"] == "completed"


def test_a_drain_that_nobody_answers_ends_with_its_budget_and_says_so(scene: Scene) -> None:
    scene.wire.plan("claim", *[unheard] * 1_000)
    scene.pauses_max = 1_000
    began = scene.seconds()

    with pytest.raises(Unreachable, match="timeout"):
        scene.worker(lambda _: None).drain(100)

    assert 35 <= scene.seconds() - began <= 100


def test_a_drain_that_hangs_until_its_budget_is_spent_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuelog_core.worker.run.REPORT_SECONDS", 0.01)
    scene.seconds.step = 1.0
    leave = threading.Event()

    def hang(request: Request, send: Transport) -> Response:
        leave.wait(SOON)
        return unheard(request, send)

    scene.wire.plan("claim", hang)
    with pytest.raises(Unreachable, match="budget"):
        scene.worker(lambda _: None).drain(100)

    leave.set()


def test_a_drain_that_was_answered_once_ends_as_any_other(scene: Scene) -> None:
    scene.wire.plan("claim", nothing_is_due, *[unheard] * 1_000)
    scene.pauses_max = 1_000

    assert scene.worker(lambda _: None).drain(100) == Drained()


def test_a_drain_that_is_stopped_while_nobody_answers_is_no_fault(scene: Scene) -> None:
    scene.wire.plan("claim", *[unheard] * 1_000)

    assert scene.worker(lambda _: None).drain(1_000) == Drained()


def test_an_outage_is_logged_once(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    busy = answer(503, "store-busy")
    scene.wire.plan("claim", unheard, unheard, unheard, nothing_is_due, busy, busy, nothing_is_due)
    scene.pauses_max = 7

    scene.work(lambda _: None)

    assert [record.getMessage() for record in caplog.records] == ["no-answer"] * 2
    said = [record.__dict__["fields"]["why"] for record in caplog.records]
    assert said == ["POST /jobs/claim: timeout", "503 store-busy"]


def test_an_outage_may_last_for_days(scene: Scene) -> None:
    scene.wire.plan("claim", *[unheard] * 1_500)
    scene.pauses_max = 1_400

    scene.work(lambda _: None)

    assert scene.pauses[-1] <= 8


def test_a_drain_does_not_wait_longer_than_its_budget_whatever_the_server_asks_for(
    scene: Scene,
) -> None:
    scene.wire.plan("claim", *[answer(503, "store-busy", **{"retry-after": "3600"})] * 10)
    scene.pauses_max = 10
    worker = scene.worker()
    worker.handler("email", timeout=5)(lambda _: None)

    with pytest.raises(Unreachable):
        worker.drain(80)

    assert scene.pauses == [60, 20]


def test_a_worker_asks_again_after_a_minute_whatever_the_server_asks_for(scene: Scene) -> None:
    scene.wire.plan("claim", answer(503, "store-busy", **{"retry-after": "3600"}))

    scene.work(lambda _: None)

    assert scene.pauses == [60]


def test_a_failed_job_is_logged_without_its_words(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.api.enqueue(max_retries=0)

    scene.work(raising(TypeError("password hunter2")))

    (record,) = caplog.records
    assert record.getMessage() == "job-failed"
    assert record.__dict__["fields"] == {"job_id": 1, "attempt": 1, "code": "type_error"}
    assert record.exc_info is None


def test_an_odd_answer_to_a_claim_keeps_no_job_from_being_handed_back(scene: Scene) -> None:
    jobs = [scene.api.enqueue() for _ in range(2)]
    leave = threading.Event()

    def odd(_request: Request, _send: Transport) -> Response:
        worker.stop()
        return Response(200, {}, b'{"jobs": [{}]}')

    def handle(_: HeldJob) -> None:
        scene.wire.wait_for("claim", 2)
        leave.wait(SOON)

    scene.wire.plan("claim", lambda request, send: send(request), odd, odd)
    worker = scene.worker(handle, concurrency=3, grace_seconds=0)
    try:
        worker.run()
    except Exception as error:
        assert not isinstance(error, AssertionError)

    found = [scene.api.get(job) for job in jobs]
    leave.set()
    assert [(job["status"], job["release_count"]) for job in found] == [("pending", 1)] * 2
