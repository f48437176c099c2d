"""Each module of functions/ end to end: settings from the environment, a store on disk."""

import json
import runpy
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.bootstrap import open_queue
from queuelog_core.config import Config
from queuelog_core.http import lambda_adapter
from queuelog_core.http.routes import GROUPS
from queuelog_core.job import Status
from queuelog_core.queue import Queue
from queuelog_core.stores import open_store
from tests.functions.events import assert_problem, http_event
from tests.support.dynamodb import Engine
from tests.support.factories import admin, producer, worker
from tests.support.http import ROOT

EMAIL = '{"type":"email","payload":{"to":"ada@example.com"}}'


def handler_of(group: str) -> Any:
    """The handler as a cold start makes it."""
    return runpy.run_path(str(ROOT / "functions" / f"{group}.py"))["handler"]


def document(reply: Any) -> Any:
    return json.loads(reply["body"])


@pytest.fixture(autouse=True)
def settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quiet_logging: None
) -> Iterator[None]:
    """The settings of a deployment, and an end for the stores that no function closes."""
    opened: list[Queue] = []

    def open_and_remember(config: Config) -> Queue:
        opened.append(open_queue(config))
        return opened[-1]

    monkeypatch.setattr(lambda_adapter, "open_queue", open_and_remember)
    monkeypatch.setenv("QUEUELOG_STORE", f"sqlite:///{tmp_path}/deployed.db")
    monkeypatch.setenv("QUEUELOG_JOB_TYPES", str(ROOT / "infra" / "job_types.toml"))
    monkeypatch.setenv("QUEUELOG_LOG_LEVEL", "INFO")
    yield
    for queue in opened:
        queue.store.close()


def test_every_group_has_its_file_and_every_file_its_group() -> None:
    files = {path.stem for path in (ROOT / "functions").glob("*.py")} - {"__init__"}

    assert files == {*GROUPS, "authorize", "drain", "maintain"}


def test_a_job_goes_its_way_through_the_functions() -> None:
    handlers = {group: handler_of(group) for group in GROUPS}

    enqueued = handlers["enqueue"](http_event("POST", "/jobs", producer(), EMAIL), None)
    claimed = handlers["claim"](http_event("POST", "/jobs/claim", worker()), None)
    done = '{"attempt":1,"result":{"sent":true}}'
    completed = handlers["complete"](http_event("POST", "/jobs/1/complete", worker(), done), None)
    read = handlers["get"](http_event("GET", "/jobs/1", producer()), None)

    told = [reply["statusCode"] for reply in (enqueued, claimed, completed, read)]
    assert told == [201, 200, 200, 200]
    assert document(claimed)["payload"] == {"to": "ada@example.com"}
    assert (document(read)["status"], document(read)["result"]) == ("completed", {"sent": True})


def test_a_failed_job_waits_for_its_backoff() -> None:
    handlers = {group: handler_of(group) for group in ("enqueue", "claim", "fail")}
    handlers["enqueue"](http_event("POST", "/jobs", producer(), EMAIL), None)
    handlers["claim"](http_event("POST", "/jobs/claim", worker()), None)

    failed = handlers["fail"](http_event("POST", "/jobs/1/fail", worker(), '{"attempt":1}'), None)
    again = handlers["claim"](http_event("POST", "/jobs/claim", worker()), None)

    assert (failed["statusCode"], document(failed)["status"]) == (200, "pending")
    assert again["statusCode"] == 204


def test_what_a_function_has_counted_is_written_before_it_is_frozen(
    monkeypatch: pytest.MonkeyPatch, dynalite_engine: Engine
) -> None:
    """DynamoDB's numbers are added up in the process, which may never be thawed."""
    url = dynalite_engine.url(dynalite_engine.make_table())
    monkeypatch.setenv("QUEUELOG_STORE", url)
    handlers = {group: handler_of(group) for group in ("enqueue", "claim", "complete")}
    for _ in range(3):
        handlers["enqueue"](http_event("POST", "/jobs", producer(), EMAIL), None)
        job = document(handlers["claim"](http_event("POST", "/jobs/claim", worker()), None))
        report = http_event("POST", f"/jobs/{job['id']}/complete", worker(), '{"attempt":1}')
        assert handlers["complete"](report, None)["statusCode"] == 200

    with closing(open_store(url)) as another:
        assert another.stats(0, None).statuses["email"] == {Status.COMPLETED: 3}


@pytest.mark.parametrize("path", ["/jobs", "/stats", "/whoami"])
def test_the_list_function_serves_all_reads_of_its_group(path: str) -> None:
    reply = handler_of("list")(http_event("GET", path, admin()), None)

    assert reply["statusCode"] == 200


@pytest.mark.parametrize("path", ["/health", "/openapi.json"])
def test_the_open_function_needs_no_identity(path: str) -> None:
    event = http_event("GET", path)
    event["requestContext"]["authorizer"] = None

    reply = handler_of("open")(event, None)

    assert reply["statusCode"] == 200


@pytest.mark.parametrize("group", GROUPS)
def test_another_path_is_not_found_in_any_function(group: str) -> None:
    reply = handler_of(group)(http_event("GET", "/nowhere", admin()), None)

    assert_problem(reply, 404, "not-found")


def test_a_warm_function_opens_its_store_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handler = handler_of("enqueue")
    handler(http_event("POST", "/jobs", producer(), EMAIL), None)
    monkeypatch.setenv("QUEUELOG_STORE", f"sqlite:///{tmp_path}/another.db")

    reply = handler(http_event("POST", "/jobs", producer(), EMAIL), None)

    assert document(reply)["id"] == 2
    assert not (tmp_path / "another.db").exists()


@pytest.mark.parametrize(
    ("name", "value", "status", "code"),
    [
        ("QUEUELOG_STORE", "postgres://db", 500, "internal-error"),
        ("QUEUELOG_STORE", "sqlite:////no/such/folder/queuelog.db", 500, "internal-error"),
        ("QUEUELOG_JOB_TYPES", "/no/such/file.toml", 500, "internal-error"),
        ("QUEUELOG_LOG_LEVEL", "LOUD", 500, "internal-error"),
    ],
)
def test_a_wrong_setting_is_a_failure_of_the_server(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, status: int, code: str
) -> None:
    monkeypatch.setenv(name, value)

    reply = handler_of("list")(http_event("GET", "/whoami", admin()), None)

    assert_problem(reply, status, code)
    assert value not in json.dumps(reply)


def test_a_function_that_could_not_start_tries_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A volume that was not mounted yet must not spoil a warm function for ever."""
    handler = handler_of("list")
    monkeypatch.setenv("QUEUELOG_STORE", f"sqlite:///{tmp_path}/later/queuelog.db")
    early = handler(http_event("GET", "/whoami", admin()), None)
    (tmp_path / "later").mkdir()

    late = handler(http_event("GET", "/whoami", admin()), None)

    assert [early["statusCode"], late["statusCode"]] == [500, 200]


def test_a_warm_function_logs_one_line_of_json_a_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = handler_of("enqueue")
    handler(http_event("POST", "/jobs", producer(), EMAIL), None)
    capsys.readouterr()

    handler(http_event("POST", "/jobs", producer(), EMAIL), None)

    text = capsys.readouterr().err
    (line,) = text.splitlines()
    assert json.loads(line)["route"] == "enqueue"
    assert "ada@example.com" not in text


def test_a_function_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    handler_of("claim")({"source": "aws.events"}, None)

    assert capsys.readouterr().out == ""
