"""What the worker makes of a handler's end."""

import contextlib
from typing import Any

import pytest

from queuelog_core.job import SERVER_ERROR_CODES
from queuelog_core.worker import Discard, HeldJob, Retry
from queuelog_core.worker.outcomes import error_code
from tests.worker.scene import Scene, raising


def test_what_a_handler_returns_is_the_result(scene: Scene) -> None:
    job = scene.api.enqueue(payload={"to": "ada"})

    scene.work(lambda held: {"sent_to": held.payload["to"], "run": [held.id, held.attempt]})

    done = scene.api.get(job)
    assert (done["status"], done["result"]) == ("completed", {"sent_to": "ada", "run": [1, 1]})


def test_what_a_handler_raises_is_the_failure(scene: Scene) -> None:
    job = scene.api.enqueue(max_retries=0)

    scene.work(raising(FileNotFoundError("no such file")))

    failed = scene.api.get(job)
    assert (failed["status"], failed["error_code"]) == ("failed", "file_not_found_error")
    assert failed["error"] == "FileNotFoundError: no such file"


def test_only_types_with_a_handler_are_claimed_each_run_by_its_own(scene: Scene) -> None:
    jobs = [scene.api.enqueue(job_type=name) for name in ("email", "pdf", "sync")]
    worker = scene.worker(lambda _: "mail")

    @worker.handler("pdf", timeout=5)
    def make(held: HeldJob) -> str:
        return f"page of a {held.type}"

    worker.run()

    assert worker.types == ["email", "pdf"]
    assert {tuple(body["types"]) for body in scene.wire.bodies("claim")} == {("email", "pdf")}
    results = [scene.api.get(job)["result"] for job in jobs]
    assert results == ["mail", "page of a pdf", None]


def test_a_worker_without_handlers_says_so(scene: Scene) -> None:
    with pytest.raises(ValueError, match="no handlers"):
        scene.worker().run()

    assert scene.wire.requests == []


RING: list[Any] = []
RING.append(RING)


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
        (RING, "value_error"),
    ],
    ids=range(8),
)
def test_a_result_that_is_not_json_is_a_failure(scene: Scene, result: Any, code: str) -> None:
    job = scene.api.enqueue(max_retries=0)

    scene.work(lambda _: result)

    assert scene.api.get(job)["error_code"] == code


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("handler", "code"),
    [
        (lambda _: "caf\udce9", "unicode_encode_error"),
        (raising(ValueError("caf\udce9")), "value_error"),
        (raising(Mute()), "mute"),
        (raising(Leaving()), "leaving"),
        (raising(SystemExit(3)), "system_exit"),
        (raising(KeyboardInterrupt()), "keyboard_interrupt"),
        (lambda _: (_ for _ in ()).throw(Discard("caf\udce9")), "value_error"),
        (lambda _: (_ for _ in ()).throw(Discard("lease_expired")), "value_error"),
        (lambda _: (_ for _ in ()).throw(Retry(after=-1)), "value_error"),
        (lambda _: (_ for _ in ()).throw(Retry(after=object())), "value_error"),  # type: ignore[arg-type]
        (lambda _: (_ for _ in ()).throw(Retry(after=True)), "value_error"),
        (raising(type("", (Exception,), {})()), "error"),
    ],
    ids=range(12),
)
def test_an_odd_end_fails_the_job_and_not_the_worker(scene: Scene, handler: Any, code: str) -> None:
    jobs = [scene.api.enqueue(max_retries=0) for _ in range(2)]

    # In the traceback of a failed test such a text would break pytest's own report.
    with contextlib.suppress(UnicodeError):
        scene.work(handler)

    assert [scene.api.get(job)["error_code"] for job in jobs] == [code, code]


def test_a_long_error_text_is_cut_before_it_is_sent(scene: Scene) -> None:
    scene.api.enqueue(max_retries=0)

    scene.work(raising(ValueError("x" * 1_000_000)))

    (body,) = scene.wire.bodies("fail")
    assert body["error"] == "ValueError: " + "x" * 4084


def test_retry_spends_a_retry_and_says_when(scene: Scene) -> None:
    job = scene.api.enqueue()

    scene.work(raising(Retry("smtp is busy", after=90, code="smtp_busy")))

    again = scene.api.get(job)
    assert (again["status"], again["retry_count"]) == ("pending", 1)
    assert (again["error_code"], again["run_at"]) == ("smtp_busy", "2026-11-29T12:01:30.000Z")


def test_retry_that_spends_nothing_releases_the_job(scene: Scene) -> None:
    job = scene.api.enqueue()

    scene.work(raising(Retry("not my turn", after=30, spend=False)))

    again = scene.api.get(job)
    assert (again["status"], again["retry_count"], again["release_count"]) == ("pending", 0, 1)
    assert again["run_at"] == "2026-11-29T12:00:30.000Z"


def test_discard_fails_for_good(scene: Scene) -> None:
    job = scene.api.enqueue(max_retries=3)

    scene.work(raising(Discard("no_address", "nobody to send to")))

    failed = scene.api.get(job)
    assert (failed["status"], failed["error_code"]) == ("failed", "no_address")
    assert failed["attempt"] == 1
    assert failed["error"] == "Discard: nobody to send to"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ValueError", "value_error"),
        ("HTTPError", "httperror"),
        ("_Hidden2Times", "_hidden2_times"),
        ("Größe", "gr__e"),
        ("X" * 100, "x" * 64),
    ],
)
def test_the_code_of_a_failure_is_a_slug_of_the_exceptions_name(name: str, code: str) -> None:
    assert error_code(type(name, (Exception,), {})()) == code


@pytest.mark.parametrize("name", ["LeaseExpired", "ReleaseLimit", "PayloadLost"])
def test_the_code_of_a_failure_is_never_one_of_the_servers_own(name: str) -> None:
    assert error_code(type(name, (Exception,), {})()) not in SERVER_ERROR_CODES
