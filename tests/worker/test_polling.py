"""Claims: how many jobs, how often, at most how many at once; and draining within a budget."""

import threading
from types import SimpleNamespace

import pytest

from queuelog_core.worker import Drained, HeldJob, Retry
from tests.worker.scene import SOON, Scene, answer, raising, unheard


def test_as_many_handlers_run_at_once_as_asked_and_never_more(scene: Scene) -> None:
    for _ in range(9):
        scene.api.enqueue()
    together = threading.Barrier(3)
    counting, running, most = threading.Lock(), 0, 0

    def handle(_: HeldJob) -> None:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
        together.wait(SOON)
        with counting:
            running -= 1

    drained = scene.worker(handle, concurrency=3).drain(1_000)

    assert (drained, most) == (Drained(completed=9), 3)
    assert all(body["limit"] <= 3 for body in scene.wire.bodies("claim"))


@pytest.mark.parametrize(("concurrency", "limit"), [(1, 1), (7, 7), (40, 25)])
def test_a_claim_asks_for_as_many_jobs_as_there_are_free_threads(
    scene: Scene, concurrency: int, limit: int
) -> None:
    scene.work(lambda _: None, concurrency=concurrency)

    assert [body["limit"] for body in scene.wire.bodies("claim")] == [limit]


def test_jobs_that_run_are_not_asked_for_again(scene: Scene) -> None:
    for _ in range(2):
        scene.api.enqueue()

    def handle(_: HeldJob) -> None:
        scene.wire.wait_for("claim", 2)

    scene.worker(handle, concurrency=5).drain(1_000)

    assert [body["limit"] for body in scene.wire.bodies("claim")][:2] == [5, 3]


@pytest.mark.parametrize(
    ("delay", "seconds"), [(3, 3), (60, 20), (None, 20)], ids=["due", "far", "drained"]
)
def test_the_pause_lasts_until_something_is_due_give_or_take_a_fifth(
    scene: Scene, delay: int | None, seconds: int
) -> None:
    if delay is not None:
        scene.api.enqueue(delay_seconds=delay)

    scene.work(lambda _: None, poll_seconds_max=20)

    (pause,) = scene.pauses
    assert 0.8 * seconds <= pause <= 1.2 * seconds


def test_workers_that_wait_equally_long_do_not_ask_at_the_same_time(scene: Scene) -> None:
    scene.pauses_max = 20

    scene.work(lambda _: None)

    assert len(set(scene.pauses)) > 10


def test_a_claim_that_is_refused_is_logged_and_tried_again_later(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    job, later = (scene.api.enqueue() for _ in range(2))
    scene.wire.plan("claim", lambda request, send: send(request), answer(403, "forbidden"))
    scene.pauses_max = 2

    scene.work(lambda _: None, poll_seconds_max=20)

    (record,) = caplog.records
    assert record.getMessage() == "claim-refused"
    assert record.__dict__["fields"]["code"] == "forbidden"
    assert 16 <= scene.pauses[0] <= 24
    assert {scene.api.get(each)["status"] for each in (job, later)} == {"completed"}


def test_a_worker_backs_off_while_the_api_is_away_and_recovers(scene: Scene) -> None:
    job = scene.api.enqueue()
    scene.wire.plan("claim", *[unheard] * 8, answer(503, "store-busy", **{"retry-after": "30"}))
    scene.pauses_max = 10

    scene.work(lambda _: None)

    bounds = [0.5, 1, 2, 4, 8, 8, 8, 8]
    for pause, bound in zip(scene.pauses, bounds, strict=False):
        assert bound / 2 <= pause <= bound
    assert scene.pauses[8] >= 30
    assert scene.api.get(job)["status"] == "completed"


def test_a_drain_ends_when_the_types_are_drained(scene: Scene) -> None:
    for number in range(3):
        scene.api.enqueue(payload={"bad": number == 2}, max_retries=0)

    def handle(held: HeldJob) -> None:
        assert not held.payload["bad"]

    drained = scene.worker(handle).drain(1_000)

    assert drained == Drained(completed=2, failed=1, released=0, lost=0)
    assert scene.pauses == []


def test_a_drain_waits_for_a_retry_that_is_due_within_its_budget(scene: Scene) -> None:
    job = scene.api.enqueue()
    scene.pauses_max = 100

    def handle(held: HeldJob) -> None:
        if held.attempt == 1:
            raise Retry(after=30)

    drained = scene.worker(handle).drain(1_000)

    assert drained == Drained(completed=1, failed=1)
    assert scene.api.get(job)["status"] == "completed"


def test_a_drain_does_not_wait_for_what_is_due_after_its_budget(scene: Scene) -> None:
    scene.api.enqueue()

    drained = scene.worker(raising(Retry(after=2_000))).drain(1_000)

    assert (drained, scene.pauses) == (Drained(failed=1), [])


def test_a_drain_claims_only_what_can_finish_within_its_budget(scene: Scene) -> None:
    jobs = [scene.api.enqueue(job_type=name) for name in ("email", "pdf")]
    worker = scene.worker()
    worker.handler("email", timeout=10)(lambda _: None)
    worker.handler("pdf", timeout=100)(lambda _: None)

    drained = worker.drain(50)

    assert drained == Drained(completed=1)
    assert [scene.api.get(job)["status"] for job in jobs] == ["completed", "pending"]
    assert worker.drain(5) == Drained()


def test_a_function_drains_until_its_time_is_nearly_up(scene: Scene) -> None:
    scene.api.enqueue()
    worker = scene.worker()
    worker.handler("email", timeout=10)(lambda _: None)

    def invoke(left: int) -> dict[str, int]:
        return worker.lambda_handler({}, SimpleNamespace(get_remaining_time_in_millis=lambda: left))

    nothing = {"completed": 0, "failed": 0, "released": 0, "lost": 0}
    assert invoke(14_999) == nothing == invoke(0)
    assert invoke(15_000) == {**nothing, "completed": 1}


def test_a_drain_claims_while_a_job_runs_only_when_something_may_be_due(scene: Scene) -> None:
    scene.api.enqueue()
    calm = threading.Event()

    def handle(_: HeldJob) -> None:
        scene.wire.wait_for("claim", 2)
        # Longer than many ticks.
        calm.wait(0.5)

    drained = scene.worker(handle, concurrency=2).drain(1_000)

    assert drained == Drained(completed=1)
    assert len(scene.wire.sent("claim")) <= 3


def test_a_drain_claims_at_once_when_one_of_its_jobs_has_ended(scene: Scene) -> None:
    """The others go on: the one that follows is what they wait for here."""
    for step in ("first", "beside"):
        scene.api.enqueue(payload={"step": step})
    followed = threading.Event()

    def handle(held: HeldJob) -> None:
        if held.payload["step"] == "first":
            scene.wire.wait_for("claim", 2)
            scene.api.for_a_thread().enqueue(payload={"step": "follows"})
        elif held.payload["step"] == "follows":
            followed.set()
        else:
            assert followed.wait(SOON)

    worker = scene.worker(handle, concurrency=3, poll_seconds_max=10 * SOON)

    assert worker.drain(1_000) == Drained(completed=3)
