"""Heartbeats: when they are sent, what their answers do, and how a handler is told.

One beat at a time is looked after here; the thread that does so is in test_beats_thread.py.
"""

import pytest

from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from queuelog_core.worker import HeldJob
from queuelog_core.worker.beats import Beat, Beats
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.worker.scene import Answer, Scene, answer, answer_lost, unheard


class ByHand(Beats):
    """Beats whose thread does nothing."""

    def _run(self) -> None:
        pass

    def looks_after(self, held: HeldJob) -> bool:
        return held in self._beats


class Hand:
    """A claimed job and the beat that keeps it."""

    def __init__(self, scene: Scene, timeout_seconds: float = 1_000) -> None:
        scene.api.enqueue()
        hasty = scene.client.with_budget(0)
        self.held = HeldJob(hasty.claim(["email"]).jobs[0])
        self.beats = ByHand(hasty, scene.seconds)
        self.beats.begin(self.held, timeout_seconds, scene.seconds())
        self.beat = Beat(self.held, scene.seconds(), timeout_seconds, scene.seconds())
        self.scene = scene

    def beat_in_time(self) -> None:
        self.scene.advance(self.beat.at - self.scene.seconds())
        self.beats.look_after(self.beat)


def test_a_lease_is_extended_by_its_length_whenever_a_third_of_it_is_over(scene: Scene) -> None:
    hand = Hand(scene)
    began = scene.seconds()

    for number in (1, 2, 3):
        hand.beat_in_time()
        assert scene.seconds() == began + number * 100

    assert scene.wire.bodies("heartbeat") == [{"attempt": 1, "extend_seconds": 300}] * 3
    assert scene.api.get({"id": 1})["lease_expires_at"] == "2026-11-29T12:10:00.000Z"
    assert not hand.held.lost and not hand.held.cancel_requested


def test_a_beat_without_an_answer_is_tried_again_soon(scene: Scene) -> None:
    hand = Hand(scene)
    scene.wire.plan("heartbeat", unheard, answer(503, "store-busy"))
    began = scene.seconds()

    for _ in range(2):
        with pytest.raises(Exception, match=r"timeout|store-busy"):
            hand.beat_in_time()
    hand.beat_in_time()

    assert scene.seconds() == began + 100 + 2 + 2
    assert hand.beat.at == scene.seconds() + 100
    assert not hand.held.lost


def test_a_lost_lease_is_told_to_the_handler_and_logged_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    hand = Hand(scene)
    scene.wire.plan("heartbeat", *[answer(409, "lease-lost")] * 2)

    hand.beat_in_time()
    hand.beats.look_after(hand.beat)

    assert hand.held.lost and not hand.held.may_report()
    (record,) = caplog.records
    assert record.getMessage() == "lease-lost"
    assert record.__dict__["fields"] == {"job_id": 1, "attempt": 1, "code": "lease-lost"}


def test_what_a_beat_hears_after_the_end_of_the_job_does_not_matter(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    hand = Hand(scene)
    scene.wire.plan("heartbeat", answer(409, "conflict"))
    hand.beats.end(hand.held)

    hand.beat_in_time()

    assert not hand.held.lost and hand.held.may_report()
    assert caplog.records == []


def test_a_request_to_cancel_reaches_the_handler(scene: Scene) -> None:
    hand = Hand(scene)
    assert scene.api.call("POST", "/jobs/1/cancel").status_code == 202

    hand.beat_in_time()

    assert hand.held.cancel_requested and not hand.held.lost


def test_a_handler_that_overstays_has_failed_and_its_return_is_ignored(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    hand = Hand(scene, timeout_seconds=30)

    hand.beat_in_time()

    assert scene.wire.sent("heartbeat") == []
    failed = scene.api.get({"id": 1})
    assert (failed["status"], failed["error_code"]) == ("pending", "timeout")
    assert failed["error"] == "the handler took longer than 30 s"
    assert hand.held.lost and not hand.held.may_report()
    assert [record.getMessage() for record in caplog.records] == ["handler-overstayed"]


def test_the_failure_of_one_that_overstayed_is_reported_until_it_is_answered(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    hand = Hand(scene, timeout_seconds=30)
    scene.wire.plan("fail", unheard, answer(503, "store-busy"), answer_lost)
    began = scene.seconds()

    hand.beat_in_time()
    hand.beats.end(hand.held)
    while hand.beats.looks_after(hand.held):
        hand.beat_in_time()

    assert scene.seconds() == began + 30 + 3 * 2
    assert len({request.body for request in scene.wire.sent("fail")}) == 1
    assert scene.api.get({"id": 1})["error_code"] == "timeout"
    assert [record.getMessage() for record in caplog.records] == ["handler-overstayed"]


@pytest.mark.parametrize(
    ("answers", "tries", "said", "fields"),
    [
        ([unheard] * 200, 1 + 270 // 2, "report-not-sent", {"cause": "Unreachable"}),
        ([answer(200, "no job")] * 200, 1 + 270 // 2, "report-not-sent", {"cause": "ServerError"}),
        ([answer(409, "lease-lost")], 1, "report-not-taken", {"code": "lease-lost"}),
    ],
    ids=["no answer", "odd answers", "a refusal"],
)
def test_it_is_given_up_when_the_lease_is_over_or_the_server_says_no(
    scene: Scene,
    caplog: pytest.LogCaptureFixture,
    answers: list[Answer],
    tries: int,
    said: str,
    fields: dict[str, str],
) -> None:
    hand = Hand(scene, timeout_seconds=30)
    scene.wire.plan("fail", *answers)

    while hand.beats.looks_after(hand.held):
        hand.beat_in_time()

    assert len(scene.wire.sent("fail")) == tries
    _, record = caplog.records
    assert record.getMessage() == said
    assert record.__dict__["fields"] == {"job_id": 1, "attempt": 1, **fields}


def test_a_heartbeat_makes_the_time_for_that_report_longer(scene: Scene) -> None:
    hand = Hand(scene, timeout_seconds=150)
    scene.wire.plan("fail", *[unheard] * 200)
    began = scene.seconds()

    while hand.beats.looks_after(hand.held):
        hand.beat_in_time()

    assert scene.seconds() == began + 100 + 300


def test_a_handler_that_ended_at_its_last_moment_reports_itself(scene: Scene) -> None:
    hand = Hand(scene, timeout_seconds=30)
    hand.beats.end(hand.held)

    hand.beat_in_time()

    assert scene.wire.sent("fail") == []
    assert not hand.held.lost and hand.held.may_report()


def test_a_handler_that_has_just_ended_has_not_overstayed(scene: Scene) -> None:
    hand = Hand(scene, timeout_seconds=30)
    assert hand.held.may_report()

    hand.beat_in_time()

    assert scene.wire.sent("fail") == []


def test_beats_at_the_longest_run_time_keep_a_distance(store: Store, clock: FakeClock) -> None:
    policy = Policy(lease_seconds=300, max_runtime_seconds=300)
    hand = Hand(Scene(Api(store, clock, JobTypes({"email": policy}))))
    hand.scene.advance(299.5)

    hand.beats.look_after(hand.beat)

    assert hand.beat.at >= hand.scene.seconds() + 0.25


@pytest.mark.parametrize(("ago", "first_after"), [(40, 60), (100, 0), (250, 0)])
def test_the_lease_of_a_repeated_claim_may_be_as_old_as_its_first_sending(
    scene: Scene, ago: float, first_after: float
) -> None:
    """A later first beat comes when the lease is over, and the job runs twice."""
    held = Hand(scene).held
    now = scene.seconds()

    beat = Beat(held, now, timeout_seconds=1_000, since=now - ago)

    assert beat.at == now + first_after
    assert beat.lease_ends_at == now - ago + 300
    assert beat.ends_at == now + 1_000
