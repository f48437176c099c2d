"""How the worker gets a report through, and what it does when the server does not take it."""

import pytest

from queuelog_core.client import Refused, Unreachable
from queuelog_core.worker import REPORT_SECONDS_MAX
from tests.support.factories import FakeSeconds
from tests.unit.fake_client import FakeClient, a_job, raising, work


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between reports, during which the worker's clock goes on and nothing else."""
    seconds, pauses = FakeSeconds(), list[float]()

    def sleep(pause: float) -> None:
        pauses.append(pause)
        seconds.now += pause

    monkeypatch.setattr("queuelog_core.worker.time.sleep", sleep)
    monkeypatch.setattr("queuelog_core.worker.monotonic_seconds", seconds)
    return pauses


def test_a_report_is_sent_again_until_the_server_is_there(
    client: FakeClient, slept: list[float]
) -> None:
    client.answers = [Unreachable("503", 5.0), Unreachable("timeout", 1.0), None]

    calls = work(client, lambda _: 7)

    assert calls == [("complete", 1, 2, 7)] * 3
    assert slept == [5.0, 1.0]


def test_a_report_is_given_up_after_a_minute_and_the_worker_goes_on(
    client: FakeClient, slept: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    client.answers = [Unreachable("503", 20.0)] * 4

    calls = work(client, lambda _: None, a_job(1), a_job(2))

    assert [call[1] for call in calls] == [1, 1, 1, 1, 2]
    assert sum(slept) == REPORT_SECONDS_MAX
    assert [record.getMessage() for record in caplog.records] == ["report-not-sent"]


def test_a_failure_is_sent_again_until_the_server_is_there(
    client: FakeClient, slept: list[float]
) -> None:
    client.answers = [Unreachable("503", 2.0), None]

    calls = work(client, raising(ValueError("boom")))

    assert calls == [("fail", 1, 2, "ValueError: boom", "value_error")] * 2


def test_a_completion_that_is_a_conflict_is_left_alone(
    client: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client.answers = [Refused(409, "lease-lost")]

    calls = work(client, lambda _: "secret")

    assert [call[0] for call in calls] == ["complete"]
    (record,) = caplog.records
    assert record.getMessage() == "report-not-taken"
    assert record.__dict__["fields"] == {"job_id": 1, "attempt": 2, "code": "lease-lost"}


@pytest.mark.parametrize("refused", [Refused(422, "validation-failed"), Refused(400, "bad")])
def test_a_result_that_is_refused_is_a_failure(client: FakeClient, refused: Refused) -> None:
    client.answers = [refused]

    _, failure = work(client, lambda _: "x" * 70_000)

    assert (failure[0], failure[4]) == ("fail", "result_refused")


@pytest.mark.parametrize("refused", [Refused(409, "conflict"), Refused(422, "validation-failed")])
def test_a_failure_that_is_refused_does_not_stop_the_worker(
    client: FakeClient, refused: Refused
) -> None:
    client.answers = [refused]

    calls = work(client, raising(ValueError("boom")), a_job(1), a_job(2))

    assert [call[1] for call in calls] == [1, 2]
