"""The scheduled upkeep as a deployment runs it: one pass a minute, with its numbers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions import maintain as function
from queuelog_core import maintain
from queuelog_core.errors import StoreUnavailable
from queuelog_core.job import Status
from queuelog_core.queue import Queue
from tests.functions.events import SCHEDULED
from tests.support.emf import metrics_of
from tests.support.factories import admin, new_job
from tests.support.http import failing
from tests.support.stores import claim, claim_one, complete

MINUTE: Any = SCHEDULED
BACKUP = {"backup": True}
PAYLOAD = {"note": "hunter2"}


@pytest.fixture
def queue(deployed_queue: Queue) -> Queue:
    """The queue that the function keeps up."""
    return deployed_queue


def lines(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """What was written, each line a document; nothing goes to stdout, where emulators look."""
    written = capsys.readouterr()
    assert written.out == ""
    return [json.loads(line) for line in written.err.splitlines()]


def numbers(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """The metrics of the one metric line."""
    (document,) = [line for line in lines(capsys) if "_aws" in line]
    return metrics_of(json.dumps(document))


def a_known_queue(queue: Queue, clock: Any) -> None:
    """Two leases that ran out, one job past its retention, one due and one delayed."""
    for _ in range(4):
        queue.enqueue(admin(), new_job("email", PAYLOAD))
    complete(queue.store, claim_one(queue.store, clock()), clock())
    clock.advance(31 * 86_400)
    claim(queue.store, clock(), limit=2, lease=1_000)
    clock.advance(90)
    queue.enqueue(admin(), new_job("pdf", PAYLOAD, delay_seconds=600))


def test_a_pass_recovers_purges_and_tells_right_numbers_in_one_line(
    queue: Queue, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a_known_queue(queue, clock)

    done = function.handler(MINUTE, None)

    assert done == {"ok": True, "recovered": 2, "purged": 1}
    assert numbers(capsys) == {
        "OldestDueAgeSeconds": 31 * 86_400 + 90,
        "DueJobs": 3,
        "DelayedJobs": 1,
        "RunningJobs": 0,
        "DeadJobs": 0,
        "ExpiredLeases": 0,
        "LateReports": 0,
        "UpkeepRuns": 1,
        "RecoveredLeases": 2,
        "PurgedJobs": 1,
    }
    assert queue.store.get(1) is None


def test_a_second_pass_finds_nothing_to_do_and_still_tells_that_it_ran(
    queue: Queue, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a_known_queue(queue, clock)
    function.handler(MINUTE, None)
    capsys.readouterr()

    done = function.handler(MINUTE, None)

    told = numbers(capsys)
    assert done == {"ok": True, "recovered": 0, "purged": 0}
    assert (told["UpkeepRuns"], told["RecoveredLeases"], told["PurgedJobs"]) == (1, 0, 0)


def test_what_a_pass_has_counted_is_written_before_the_function_is_frozen(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was cut short in its purge."""
    flushed: list[str] = []
    monkeypatch.setattr(queue.store, "flush", lambda: flushed.append("flushed"))
    function.handler(MINUTE, None)
    broken = failing(queue.store, StoreUnavailable("cut short"), "purge")
    monkeypatch.setattr(maintain, "_queue", lambda: Queue(broken, queue.job_types, queue.clock))

    assert function.handler(MINUTE, None) == {"ok": False}
    assert flushed == ["flushed"] * 2


def test_the_metrics_are_those_of_the_stage(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    function.handler(MINUTE, None)

    (line,) = lines(capsys)
    assert line["Stage"] == "prod"
    assert line["_aws"]["Timestamp"] == queue.clock()


def test_the_retention_is_the_one_of_the_settings(
    queue: Queue, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_known_queue(queue, clock)
    monkeypatch.setenv("QUEUELOG_RETENTION_DAYS", "32")

    assert function.handler(MINUTE, None) == {"ok": True, "recovered": 2, "purged": 0}


@pytest.mark.parametrize(
    "event", [SCHEDULED, {}, None, [], "x", 0, {"backup": False}, {"backup": None}, {"backup": 1}]
)
def test_every_event_but_the_one_for_a_backup_is_a_pass(queue: Queue, event: Any) -> None:
    assert function.handler(event, None) == {"ok": True, "recovered": 0, "purged": 0}


def test_a_backup_tells_only_of_itself_and_makes_no_pass(
    queue: Queue, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a_known_queue(queue, clock)

    function.handler(BACKUP, None)

    (told,) = [line for line in lines(capsys) if "_aws" in line]
    assert told.keys() == {"_aws", "Stage", "Backups"}
    job = queue.store.get(2)
    assert job is not None
    assert job.status is Status.RUNNING


@pytest.fixture
def cold(deployed: None) -> Iterator[None]:
    """The function opens its store by itself; one that could be opened is closed again."""
    for kept in (maintain._start, maintain._queue):
        kept.cache_clear()
    yield
    for kept in (maintain._start, maintain._queue):
        kept.cache_clear()


@pytest.mark.parametrize("event", [MINUTE, BACKUP], ids=["pass", "backup"])
@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("QUEUELOG_STORE", "sqlite:////no/such/folder/queuelog.db", "/no/such/folder"),
        ("QUEUELOG_STORE", "postgres://db", "QUEUELOG_STORE"),
        ("QUEUELOG_JOB_TYPES", "/no/such/file.toml", "/no/such/file.toml"),
        ("QUEUELOG_RETENTION_DAYS", "x", "QUEUELOG_RETENTION_DAYS"),
        ("QUEUELOG_LOG_LEVEL", "LOUD", "QUEUELOG_LOG_LEVEL"),
    ],
)
def test_what_keeps_it_from_starting_is_logged_once_and_told_as_not_ok(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cold: None,
    event: Any,
    name: str,
    value: str,
    cause: str,
) -> None:
    monkeypatch.setenv(name, value)

    assert function.handler(event, None) == {"ok": False}

    (line,) = lines(capsys)
    assert (line["level"], line["event"]) == ("error", "maintain-failed")
    assert cause in line["cause"]


@pytest.mark.parametrize("method", ["settle_overdue", "purge", "stats"])
@pytest.mark.parametrize("fault", [StoreUnavailable("disk I/O error"), RuntimeError("hunter2")])
def test_a_store_that_breaks_in_a_pass_is_logged_once_and_brings_no_numbers(
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    method: str,
    fault: Exception,
) -> None:
    """The alarm for a silent upkeep waits for numbers that do not come."""
    broken = Queue(failing(queue.store, fault, method), queue.job_types, queue.clock)
    monkeypatch.setattr(maintain, "_queue", lambda: broken)

    assert function.handler(MINUTE, None) == {"ok": False}

    assert lines(capsys) == []
    (record,) = caplog.records
    told = "disk I/O error" if isinstance(fault, StoreUnavailable) else "RuntimeError"
    assert vars(record)["fields"]["cause"] == told
