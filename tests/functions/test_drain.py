"""The scheduled worker against a real server: what it runs, within which budget, with which key."""

import os
import runpy
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from queuelog_core.client import Client
from queuelog_core.clock import SystemClock
from queuelog_core.drain import drain_with
from queuelog_core.errors import ConfigError
from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from queuelog_core.worker import HeldJob
from tests.functions.draining import LONG_SECONDS, did, running, settings_of
from tests.functions.events import SCHEDULED
from tests.support.http import ROOT
from tests.support.processes import run_all
from tests.support.secrets_manager import REGION
from tests.support.servers import Server, eventually, make_key, serving

JOBS, DRAINS = 100, 3
SECRET = "queuelog-test-drain-key"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("drained")) as server:
        yield server


@pytest.fixture(scope="module")
def key(server: Server) -> str:
    return make_key(server.folder, "drain", Role.ADMIN)


@pytest.fixture(autouse=True)
def settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server, key: str, quiet_logging: None
) -> None:
    """What the stage says of its drain."""
    for name, value in settings_of(server.url, key, tmp_path).items():
        monkeypatch.setenv(name, value)


def test_the_function_runs_what_is_due_of_every_type_and_tells_how_it_ended(
    server: Server, key: str, tmp_path: Path
) -> None:
    (tmp_path / "sync" / "photos").mkdir(parents=True)
    (tmp_path / "sync" / "photos" / "ada.txt").write_text("Ada")
    payloads = {"email": {"to": "ada@example.com"}, "pdf": {"title": "Report"}}
    payloads["sync"] = {"source": "photos", "target": "copy"}
    made = [
        server.enqueue(key, type=job_type, payload=payload)
        for job_type, payload in payloads.items()
    ]
    hopeless = server.enqueue(key, type="email", payload={}, max_retries=0)

    handler = runpy.run_path(str(ROOT / "functions" / "drain.py"))["handler"]
    done = handler(SCHEDULED, None)

    assert done == did(completed=3, failed=1)
    assert {server.job(key, job["id"])["status"] for job in made} == {"completed"}
    assert server.job(key, hopeless["id"])["error_code"] == "key_error"
    assert (tmp_path / "outbox" / f"job-{made[0]['id']}.eml").exists()
    assert (tmp_path / "pdf" / f"job-{made[1]['id']}.pdf").exists()
    assert (tmp_path / "sync" / "copy" / "ada.txt").read_text() == "Ada"


@pytest.mark.parametrize("event", [SCHEDULED, {}, None, [], {"source": "aws.events"}], ids=str)
def test_an_empty_queue_is_left_at_once_whatever_the_event(event: Any) -> None:
    """It answers with something: emulators wait for ever for an answer that is empty."""
    began = time.monotonic()

    done = running(lambda _job: None)(event, None)

    assert done == did()
    assert time.monotonic() - began < LONG_SECONDS / 20


def test_a_job_that_could_not_end_within_the_budget_is_not_begun(
    server: Server, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = server.enqueue(key, type="email")
    monkeypatch.setenv("QUEUELOG_DRAIN_SECONDS", "29")

    assert running(lambda _job: None)(SCHEDULED, None) == did()
    assert server.job(key, waiting["id"])["attempt"] == 0

    monkeypatch.setenv("QUEUELOG_DRAIN_SECONDS", "60")
    assert running(lambda _job: None)(SCHEDULED, None) == did(completed=1)


def test_the_budget_is_kept_while_jobs_go_on_coming(
    server: Server, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUELOG_DRAIN_SECONDS", "2")
    monkeypatch.setenv("QUEUELOG_DRAIN_JOB_SECONDS", "1")

    def and_another(_job: HeldJob) -> None:
        server.enqueue(key, type="email")

    server.enqueue(key, type="email")
    began = time.monotonic()
    done = running(and_another)(SCHEDULED, None)

    assert time.monotonic() - began < 10
    assert done["completed"] >= 1
    assert done == did(completed=done["completed"])
    assert running(lambda _job: None)(SCHEDULED, None)["completed"] <= 1
    monkeypatch.setenv("QUEUELOG_DRAIN_SECONDS", str(LONG_SECONDS))
    running(lambda _job: None)(SCHEDULED, None)
    left = server.call("GET", "/jobs?status=running", key).json["jobs"]
    assert left == []


def test_a_handler_that_overstays_its_seconds_is_a_failed_job(
    server: Server, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUELOG_DRAIN_JOB_SECONDS", "1")
    job = server.enqueue(key, type="email", max_retries=0)
    stopped = threading.Event()

    def until_it_is_lost(held: HeldJob) -> None:
        while not held.lost:
            stopped.wait(0.01)

    running(until_it_is_lost)(SCHEDULED, None)

    failed = server.job(key, job["id"])
    assert (failed["status"], failed["error_code"]) == ("failed", "timeout")


def drain_here(url: str, key: str, folder: Path) -> tuple[dict[str, int], list[int]]:
    """One scheduled invocation in a process of its own: what it told, and the jobs it ran."""
    os.environ.update(settings_of(url, key, folder))
    ran: list[int] = []
    return running(lambda job: ran.append(job.id))(SCHEDULED, None), ran


def test_drains_that_overlap_run_each_job_once(server: Server, key: str, tmp_path: Path) -> None:
    """B60: a schedule that is shorter than the function's time starts a second one beside it."""
    with Client(server.url, key) as client:
        made = [one.id for one in client.enqueue_many({"type": "email"} for _ in range(JOBS))]

    told = run_all(drain_here, server.url, key, tmp_path, processes=DRAINS)

    ran = Counter(job_id for _, jobs in told for job_id in jobs)
    assert ran == Counter(made)
    assert sum(done["completed"] for done, _ in told) == JOBS
    assert all(done == did(completed=len(jobs)) for done, jobs in told)


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Secrets Manager with an empty secret for the key, where the settings look for it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("QUEUELOG_API_KEY", "")
    monkeypatch.setenv("QUEUELOG_API_KEY_SECRET", SECRET)
    with mock_aws():
        client: Any = boto3.client("secretsmanager")
        client.create_secret(Name=SECRET)
        yield client


def test_the_key_comes_from_its_secret(server: Server, key: str, secrets: Any) -> None:
    secrets.put_secret_value(SecretId=SECRET, SecretString=key)
    server.enqueue(key, type="email")

    assert running(lambda _job: None)(SCHEDULED, None) == did(completed=1)


def knows(server: Server, key: str) -> bool:
    return server.call("GET", "/whoami", key).status == 200


def test_a_warm_function_takes_up_a_key_that_was_rotated(
    server: Server, key: str, secrets: Any
) -> None:
    """The old one is revoked, and a function that is called each minute stays warm for hours."""
    registry = FileRegistry(server.folder / ".queuelog" / "keys.json", SystemClock())
    ran: list[int] = []
    handler = running(lambda job: ran.append(job.id))
    for _ in range(2):
        record, fresh = registry.create("mailer", Role.WORKER, priority_max=Priority.LOW)
        server.enqueue(key, type="email")
        secrets.put_secret_value(SecretId=SECRET, SecretString=fresh)
        eventually(partial(knows, server, fresh), "the server knows the key")
        assert handler(SCHEDULED, None) == did(completed=1)
        registry.revoke(record.id)

    assert len(ran) == 2


def test_a_warm_function_with_the_same_key_keeps_its_worker() -> None:
    loads: list[Path] = []

    def load(folder: Path, **places: str | None) -> Mapping[str, Any]:
        loads.append(folder)
        return {"email": lambda _job: None}

    handler = drain_with(load)
    for _ in range(3):
        handler(SCHEDULED, None)

    assert len(loads) == 1


def test_the_handlers_are_told_where_to_put_what_they_make(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[Any] = []

    def load(folder: Path, **places: str | None) -> Mapping[str, Any]:
        told.append((folder, places))
        return {"email": lambda _job: None}

    drain_with(load)(SCHEDULED, None)
    monkeypatch.setenv("QUEUELOG_BUCKET", "made-here")
    monkeypatch.setenv("QUEUELOG_SENDER", "queue@example.com")
    drain_with(load)(SCHEDULED, None)

    assert told == [
        (tmp_path, {"bucket": None, "sender": None}),
        (tmp_path, {"bucket": "made-here", "sender": "queue@example.com"}),
    ]


def test_a_secret_that_holds_nothing_is_named_and_tried_anew(
    server: Server, key: str, secrets: Any
) -> None:
    handler = running(lambda _job: None)
    with pytest.raises(ConfigError, match=SECRET):
        handler(SCHEDULED, None)

    secrets.put_secret_value(SecretId=SECRET, SecretString=key)

    assert handler(SCHEDULED, None) == did()
