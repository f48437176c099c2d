"""The worker's loop: what it claims, what it makes of a handler's end, how long it pauses.

How it gets a report through is in test_worker_reports.py. Nothing really waits."""

import contextlib
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from queuelog_core import worker as worker_module
from queuelog_core.client import ClientError, Job, Refused, Unreachable
from queuelog_core.job import SERVER_ERROR_CODES
from queuelog_core.worker import Handler, Worker, error_code
from tests.unit.fake_client import FakeClient, a_job, raising, work


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The pauses between claims."""
    pauses: list[float | None] = []

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout)
            return self.is_set()

    monkeypatch.setattr(worker_module, "threading", SimpleNamespace(Event=Event))
    return pauses


def test_what_a_handler_returns_is_the_result(client: FakeClient) -> None:
    calls = work(client, lambda job: {"sent_to": job["payload"]["to"]})

    assert calls == [("complete", 1, 2, {"sent_to": "ada"})]


def test_what_a_handler_raises_is_the_failure(client: FakeClient) -> None:
    calls = work(client, raising(FileNotFoundError("no such file")))

    assert calls == [("fail", 1, 2, "FileNotFoundError: no such file", "file_not_found_error")]


def test_the_worker_asks_for_the_types_it_has_handlers_for(client: FakeClient) -> None:
    work(client, lambda _: None)

    assert client.asked_for == [["email", "pdf"]]


def test_a_job_is_run_by_the_handler_of_its_type(client: FakeClient) -> None:
    worker = Worker(client, {"email": lambda _: "mail", "pdf": lambda _: "page"})
    client.claims = [a_job(1, "pdf"), a_job(2, "email")]
    client.on_drained = worker.stop

    worker.run()

    assert [call[3] for call in client.calls] == ["page", "mail"]


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (object(), "type_error"),
        ({1, 2}, "type_error"),
        ({(1, 2): 3}, "type_error"),
        (b"bytes", "type_error"),
        (float("nan"), "value_error"),
        (float("inf"), "value_error"),
        (10**5_000, "value_error"),
    ],
    ids=range(7),
)
def test_a_result_that_is_not_json_is_a_failure(client: FakeClient, result: Any, code: str) -> None:
    (call,) = work(client, lambda _: result)

    assert (call[0], call[4]) == ("fail", code)


def test_a_result_that_contains_itself_is_a_failure(client: FakeClient) -> None:
    ring: list[Any] = []
    ring.append(ring)

    (call,) = work(client, lambda _: ring)

    assert (call[0], call[4]) == ("fail", "value_error")


@pytest.mark.parametrize(
    "handler",
    [lambda _: "caf\udce9", raising(ValueError("caf\udce9"))],
    ids=["result", "error"],
)
def test_a_text_that_utf_8_cannot_carry_fails_the_job_and_not_the_worker(
    client: FakeClient, handler: Handler
) -> None:
    # In the traceback of a failed test such a text would break pytest's own report.
    with contextlib.suppress(UnicodeError):
        work(client, handler, a_job(1), a_job(2))

    assert [call[:2] for call in client.calls] == [("fail", 1), ("fail", 2)]


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_without_words_fails_the_job_and_not_the_worker(client: FakeClient) -> None:
    calls = work(client, raising(Mute()), a_job(1), a_job(2))

    assert [call[:2] for call in calls] == [("fail", 1), ("fail", 2)]


def test_a_long_error_text_is_cut_before_it_is_sent(client: FakeClient) -> None:
    (call,) = work(client, raising(ValueError("x" * 1_000_000)))

    assert call[3] == "ValueError: " + "x" * 4084


@pytest.mark.parametrize("nothing", [Unreachable("timeout"), Refused(403, "forbidden"), 5.0])
def test_a_claim_that_brings_no_job_is_tried_again(
    client: FakeClient, nothing: ClientError | float
) -> None:
    calls = work(client, lambda _: None, nothing, a_job())

    assert [call[0] for call in calls] == ["complete"]


@pytest.mark.parametrize(
    ("nothing", "seconds"),
    [(5.0, 5), (90.0, 20), (Unreachable("503", 3.0), 3), (Refused(403, "forbidden"), 20)],
)
def test_the_pause_before_the_next_claim_is_as_asked_give_or_take_a_fifth(
    client: FakeClient, waits: list[float], nothing: ClientError | float, seconds: int
) -> None:
    work(client, lambda _: None, nothing, a_job(), poll_seconds_max=20)

    (pause,) = waits
    assert 0.8 * seconds <= pause <= 1.2 * seconds


def test_workers_that_wait_equally_long_do_not_ask_at_the_same_time(
    client: FakeClient, waits: list[float]
) -> None:
    work(client, lambda _: None, *[5.0] * 20, poll_seconds_max=20)

    assert len(set(waits)) > 10


def test_a_claim_that_is_refused_is_logged_with_its_code(
    client: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    work(client, lambda _: None, Refused(403, "forbidden"))

    (record,) = caplog.records
    assert record.getMessage() == "claim-refused"
    assert record.__dict__["fields"] == {"code": "forbidden"}


def test_a_worker_that_is_stopped_finishes_and_reports_its_job_first(client: FakeClient) -> None:
    def handle(job: Job) -> str:
        worker.stop()
        return "done"

    worker = Worker(client, {"email": handle})
    client.claims = [a_job(1), a_job(2)]

    worker.run()

    assert client.calls == [("complete", 1, 2, "done")]
    assert len(client.asked_for) == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ValueError", "value_error"),
        ("FileNotFoundError", "file_not_found_error"),
        ("HTTPError", "httperror"),
        ("_Hidden2Times", "_hidden2_times"),
        ("Größe", "gr__e"),
        ("X" * 100, "x" * 64),
    ],
)
def test_the_code_of_a_failure_is_a_slug_of_the_exceptions_name(name: str, code: str) -> None:
    error = type(name, (Exception,), {})()

    assert error_code(error) == code


@pytest.mark.parametrize("name", ["LeaseExpired", "ReleaseLimit", "PayloadLost"])
def test_the_code_of_a_failure_is_never_one_of_the_servers_own(name: str) -> None:
    error = type(name, (Exception,), {})()

    assert error_code(error) not in SERVER_ERROR_CODES
