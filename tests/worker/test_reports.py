"""How a report gets through, and what the worker does when the server does not take it."""

import pytest

from queuelog_core.client import Request, Response, Transport
from queuelog_core.worker import Discard, HeldJob, Retry
from queuelog_core.worker.reporting import run_and_report
from tests.worker.scene import Scene, answer, answer_lost, raising, unheard


def test_a_report_is_sent_again_until_the_server_is_there(scene: Scene) -> None:
    job = scene.api.enqueue()
    busy = answer(503, "store-busy", **{"retry-after": "5"})
    scene.wire.plan("complete", busy, answer_lost)

    scene.work(lambda _: 7)

    assert scene.wire.bodies("complete") == [{"attempt": 1, "result": 7}] * 3
    assert scene.api.get(job)["result"] == 7


def test_a_report_is_given_up_after_the_clients_budget_and_the_worker_goes_on(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [scene.api.enqueue() for _ in range(2)]
    scene.wire.plan("complete", *[answer(503, "store-busy", **{"retry-after": "20"})] * 3)

    scene.work(lambda _: None)

    assert [scene.api.get(job)["status"] for job in jobs] == ["running", "completed"]
    (record,) = caplog.records
    assert record.getMessage() == "report-not-sent"
    assert record.__dict__["fields"] == {"job_id": 1, "attempt": 1, "cause": "StoreBusy"}


@pytest.mark.parametrize(("verb", "fails"), [("complete", False), ("fail", True)])
def test_a_report_that_is_a_conflict_is_logged_once_and_dropped(
    scene: Scene, caplog: pytest.LogCaptureFixture, verb: str, fails: bool
) -> None:
    scene.api.enqueue()
    scene.wire.plan(verb, answer(409, "lease-lost"))

    scene.work(raising(ValueError("boom")) if fails else lambda _: "secret")

    assert len(scene.wire.sent(verb)) == 1
    (record,) = caplog.records
    assert record.getMessage() == "report-not-taken"
    assert record.__dict__["fields"] == {"job_id": 1, "attempt": 1, "code": "lease-lost"}


def test_a_result_that_the_server_refuses_is_a_failure(scene: Scene) -> None:
    job = scene.api.enqueue(max_retries=0)

    scene.work(lambda _: "x" * 70_000)

    failed = scene.api.get(job)
    assert (failed["status"], failed["error_code"]) == ("failed", "result_refused")


@pytest.mark.parametrize(
    ("verb", "ends", "is_tried_again"),
    [
        ("fail", ValueError("boom"), True),
        ("fail", Retry("busy", after=30), True),
        ("release", Retry("busy", spend=False), True),
        ("fail", Discard("no_address"), False),
    ],
    ids=range(4),
)
def test_a_report_that_the_server_refuses_is_a_failure_in_words_of_our_own(
    scene: Scene, verb: str, ends: Exception, is_tried_again: bool
) -> None:
    job = scene.api.enqueue(max_retries=0)
    scene.wire.plan(verb, answer(422, "validation-failed"))

    scene.work(raising(ends))

    told = scene.api.get(job)
    assert (told["status"], told["error_code"]) == ("failed", "report_refused")
    assert told["error"] == "the report was refused: ValidationFailed: 422 validation-failed"
    assert scene.wire.bodies("fail")[-1]["retryable"] is is_tried_again


def test_a_failure_that_is_a_conflict_does_not_stop_the_worker(scene: Scene) -> None:
    jobs = [scene.api.enqueue(max_retries=0) for _ in range(2)]
    scene.wire.plan("fail", answer(409, "conflict"))

    scene.work(raising(ValueError("boom")))

    assert [scene.api.get(job)["status"] for job in jobs] == ["running", "failed"]


def test_a_report_that_is_refused_in_any_words_is_given_up_and_the_worker_goes_on(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [scene.api.enqueue(max_retries=0) for _ in range(2)]
    scene.wire.plan("fail", *[answer(422, "validation-failed")] * 2)

    scene.work(raising(ValueError("boom")))

    assert [scene.api.get(job)["status"] for job in jobs] == ["running", "failed"]
    assert [record.getMessage() for record in caplog.records] == ["report-not-sent", "job-failed"]


def test_an_answer_that_is_no_job_does_not_cost_a_thread(scene: Scene) -> None:
    jobs = [scene.api.enqueue() for _ in range(2)]
    scene.wire.plan("complete", answer(200, "not a job"))

    scene.work(lambda _: None)

    assert scene.api.get(jobs[1])["status"] == "completed"


def test_a_claim_whose_answer_was_lost_is_repeated_as_it_was(scene: Scene) -> None:
    job = scene.api.enqueue()
    scene.wire.plan("claim", answer_lost, unheard)
    scene.pauses_max = 3

    scene.work(lambda _: None)

    first, *repeats = scene.wire.sent("claim")[:3]
    assert [(sent.body, sent.headers) for sent in repeats] == [(first.body, first.headers)] * 2
    done = scene.api.get(job)
    assert (done["status"], done["attempt"]) == ("completed", 1)


def test_a_claim_whose_answer_was_lost_before_the_end_leaves_no_lease(scene: Scene) -> None:
    job = scene.api.enqueue()
    scene.wire.plan("claim", answer_lost)

    scene.work(lambda _: None)

    back = scene.api.get(job)
    assert (back["status"], back["release_count"], back["retry_count"]) == ("pending", 1, 0)
    first, repeat = scene.wire.sent("claim")
    assert (first.body, first.headers) == (repeat.body, repeat.headers)


def test_a_jobs_beats_end_before_its_report_is_sent(scene: Scene) -> None:
    scene.api.enqueue()
    held = HeldJob(scene.client.claim(["email"]).jobs[0])
    order: list[str] = []

    def note(request: Request, send: Transport) -> Response:
        order.append("report")
        return send(request)

    scene.wire.plan("complete", note)
    run_and_report(scene.client, lambda _: None, held, lambda _: order.append("end"))

    assert order == ["end", "report"]
