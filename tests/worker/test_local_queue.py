"""The queue for tests of handlers and producers: what runs when, and what a test gets to see."""

import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from queuelog_core import testing
from queuelog_core.client import Forbidden, ValidationFailed
from queuelog_core.errors import ConfigError
from queuelog_core.testing import LocalQueue
from queuelog_core.worker import Discard, Drained, HeldJob, Retry, Worker
from tests.support.http import ROOT
from tests.worker.scene import Seen, raising


@pytest.mark.parametrize("work", [Worker.run, lambda worker: worker.drain(1_000)])
def test_a_worker_asks_for_settings_when_it_is_to_work_and_not_before(
    seen: Seen, work: Any
) -> None:
    with pytest.raises(ConfigError, match="QUEUELOG_API_KEY"):
        work(seen.worker)


def test_what_is_due_runs_at_once_and_its_result_is_there(queue: LocalQueue) -> None:
    job = queue.client.enqueue("email", {"to": "ada"})

    assert queue.client.get(job.id).status == "pending"
    assert queue.run_due() == Drained(completed=1)
    assert queue.client.get(job.id).result == {"to": "ada"}
    assert queue.run_due() == Drained()


def test_jobs_run_in_this_thread_in_the_order_in_which_they_are_claimed(
    queue: LocalQueue, seen: Seen
) -> None:
    for priority in ("low", "critical", "low", "high"):
        queue.client.enqueue("email", priority=priority)
    threads: list[threading.Thread] = []
    seen.handle = lambda _: threads.append(threading.current_thread())

    queue.run_due()

    assert [held.id for held in seen.jobs] == [2, 4, 1, 3]
    assert {*threads} == {threading.current_thread()}


def test_a_job_that_a_handler_enqueues_runs_too_and_in_its_order(
    queue: LocalQueue, seen: Seen
) -> None:
    for step in ("first", "last"):
        queue.client.enqueue("email", {"step": step})

    def follow_up(held: HeldJob) -> None:
        if held.payload["step"] == "first":
            queue.client.enqueue("email", {"step": "between"}, priority="critical")

    seen.handle = follow_up

    assert queue.run_due() == Drained(completed=3)
    assert [held.payload["step"] for held in seen.jobs] == ["first", "between", "last"]


def test_a_test_sees_all_jobs_the_oldest_first_or_those_it_asks_for(queue: LocalQueue) -> None:
    made = [queue.client.enqueue("email").id for _ in range(3)]
    queue.client.cancel(made[1])

    assert [job.id for job in queue.jobs()] == made
    assert [job.id for job in queue.jobs(status="pending", order="desc")] == [made[2], made[0]]


def test_a_failure_is_there_with_its_words_and_its_retry_becomes_due(
    queue: LocalQueue, seen: Seen
) -> None:
    queue.client.enqueue("email")
    seen.handle = raising(ValueError("no such address"))

    assert queue.run_due() == Drained(failed=1)
    [job] = queue.jobs(status="pending")
    assert (job.error_code, job.error) == ("value_error", "ValueError: no such address")
    queue.advance(1.999)
    assert queue.run_due() == Drained()
    queue.advance(0.001)
    assert queue.run_due() == Drained(failed=1)
    assert job.run_at == queue.time


@pytest.mark.parametrize(
    ("error", "drained", "status", "code", "waits"),
    [
        (Retry("busy", after=90), Drained(failed=1), "pending", "retry", 90),
        (Retry("not yet", after=90, spend=False), Drained(released=1), "pending", None, 90),
        (Discard("no_address"), Drained(failed=1), "failed", "no_address", 0),
        (SystemExit(3), Drained(failed=1), "pending", "system_exit", 2),
    ],
    ids=["retry", "release", "discard", "exit"],
)
def test_a_handlers_end_is_reported_as_a_worker_does(
    queue: LocalQueue, seen: Seen, error: BaseException, drained: Drained, status: str, code: str,
    waits: int,
) -> None:  # fmt: skip
    queue.client.enqueue("email")
    seen.handle = raising(error)

    assert queue.run_due(raise_errors=True) == drained
    [job] = queue.jobs()
    assert (job.status, job.error_code) == (status, code)
    assert job.run_at == queue.time + timedelta(seconds=waits)


@pytest.mark.parametrize(
    ("handle", "kind"),
    [(raising(KeyError("to")), KeyError), (lambda _: object(), TypeError)],
    ids=["raised", "no JSON"],
)
def test_a_test_may_have_the_exception_itself_after_its_report(
    queue: LocalQueue, seen: Seen, handle: Any, kind: type[Exception]
) -> None:
    queue.client.enqueue("email")
    seen.handle = handle

    with pytest.raises(kind):
        queue.run_due(raise_errors=True)
    assert [job.error_code for job in queue.jobs()] in (["key_error"], ["type_error"])


def test_what_ends_the_test_itself_is_never_kept_from_it(queue: LocalQueue, seen: Seen) -> None:
    queue.client.enqueue("email")
    seen.handle = lambda _: pytest.fail("not like that")

    with pytest.raises(pytest.fail.Exception, match="not like that"):
        queue.run_due()


@pytest.mark.parametrize(("spend", "runs"), [(True, 3), (False, 21)])
def test_a_job_that_always_wants_to_run_again_does_so_until_its_retries_are_spent(
    queue: LocalQueue, seen: Seen, spend: bool, runs: int
) -> None:
    queue.client.enqueue("email", max_retries=2)
    seen.handle = raising(Retry(after=0, spend=spend))

    queue.run_due()

    assert len(seen.jobs) == runs


def test_jobs_without_end_are_told_from_many_jobs(
    queue: LocalQueue, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing, "RUNS_MAX", 5)
    seen.handle = lambda _: queue.client.enqueue("email") and None
    queue.client.enqueue("email")

    with pytest.raises(RuntimeError, match="enqueue itself"):
        queue.run_due()


def test_types_are_those_of_all_handlers_and_those_that_are_named(seen: Seen) -> None:
    painter = Worker()
    painter.handler("pdf")(lambda _: "page")
    with LocalQueue(seen.worker, painter, job_types=["sync"]) as queue:
        for name in ("email", "pdf", "sync"):
            queue.client.enqueue(name)
        with pytest.raises(ValidationFailed, match="allowlist"):
            queue.client.enqueue("letter")

        assert queue.run_due() == Drained(completed=2)
        assert [job.type for job in queue.jobs(status="pending")] == ["sync"]


@pytest.mark.parametrize("form", [Path, str])
def test_types_may_come_from_the_registry_of_a_deployment(
    seen: Seen, form: Any, tmp_path: Path
) -> None:
    registry = tmp_path / "types.toml"
    registry.write_text("[types.email]\nmax_retries = 7\n")
    with LocalQueue(seen.worker, job_types=form(registry)) as queue:
        assert queue.client.enqueue("email").max_retries == 7
    with pytest.raises(ConfigError, match="does not exist"):
        LocalQueue(seen.worker, job_types=form(tmp_path / "none"))


def test_each_queue_is_its_own_and_leaves_nothing_behind(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with LocalQueue(seen.worker) as one, LocalQueue(seen.worker) as other:
        one.client.enqueue("email")
        assert (len(one.jobs()), len(other.jobs())) == (1, 0)
        assert len(list(tmp_path.iterdir())) == 2

    assert list(tmp_path.iterdir()) == []


def test_without_the_server_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['flask'] = None; import queuelog_core.testing"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.stderr.splitlines()[-1] == (
        "ImportError: queuelog_core.testing runs the server, which needs flask:"
        " pip install 'queuelog[server]'"
    )


def test_a_handler_that_calls_by_its_workers_client_reaches_the_tests_queue(
    queue: LocalQueue, seen: Seen
) -> None:
    job = queue.client.enqueue("email", {"to": "ada"})
    seen.handle = lambda held: seen.worker.client.get(held.id).payload

    queue.run_due(raise_errors=True)

    assert queue.client.get(job.id).result == {"to": "ada"}
    with pytest.raises(ConfigError):
        seen.worker.client.get(job.id)


def test_the_client_of_a_worker_may_not_do_more_in_a_test_than_in_production(
    queue: LocalQueue, seen: Seen
) -> None:
    queue.client.enqueue("email")
    seen.handle = lambda _: seen.worker.client.enqueue("email") and None

    with pytest.raises(Forbidden):
        queue.run_due(raise_errors=True)
