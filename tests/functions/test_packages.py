"""What scripts/build_lambda.py makes: whole, small, repeatable, and running as it lies there."""

import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from queuelog_core.http.routes import GROUPS
from scripts import build_lambda
from scripts.build_lambda import PACKAGES, RUNTIME, build, interpreter_of
from tests.client.scripted_server import scripted_server
from tests.functions.events import http_event
from tests.functions.once import made_once
from tests.functions.packages import (
    CALLS,
    JOBS,
    RUNNING,
    Built,
    build_command,
    build_for_this_interpreter,
    contents,
    unpacked,
)
from tests.support.factories import admin, producer, worker

API, DRAIN = PACKAGES
API_BYTES_MAX = 2_350_000
OURS = {"functions", "queuelog_core", "infra"}
FLASK = {"flask", "werkzeug", "jinja2", "markupsafe", "itsdangerous", "click", "blinker"}
REPORTLAB = {"reportlab", "PIL", "pillow.libs", "charset_normalizer"}
UNCHECKED_HASH = 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both packages for the interpreter that runs the tests."""
    return made_once(tmp_path_factory, "packages", build_for_this_interpreter)


@pytest.fixture(scope="module")
def api(folder: Path) -> Built:
    return Built(folder / "api.zip", folder / "api", sys.executable)


@pytest.fixture(scope="module")
def drain(folder: Path) -> Built:
    return Built(folder / "drain.zip", folder / "drain", sys.executable)


@pytest.fixture(scope="module")
def deployed(api: Built, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The API's package for the runtime that is deployed, on a machine that has its interpreter."""
    try:
        python = interpreter_of(RUNTIME)
    except SystemExit:
        return api
    if RUNTIME == RUNNING:
        return api

    def make(out: Path) -> None:
        build(API, out / "api.zip", RUNTIME, python)
        unpacked(out / "api.zip", python)

    out = made_once(tmp_path_factory, "deployed", make)
    return Built(out / "api.zip", out / "api", python)


@pytest.fixture(params=["api", "deployed", "drain"])
def package(request: pytest.FixtureRequest) -> Built:
    found: Built = request.getfixturevalue(request.param)
    return found


def test_the_api_holds_its_functions_flask_and_serverless_wsgi(api: Built) -> None:
    assert api.top == OURS | FLASK | {"serverless_wsgi"}
    assert PurePosixPath("infra/job_types.toml") in api.names
    assert {PurePosixPath(f"functions/{group}.py") for group in GROUPS} <= set(api.names)
    assert api.parts_of_ours.isdisjoint({"cli", "client", "worker", "drain", "serve", "demo"})


def test_the_worker_holds_its_handlers_and_their_libraries_and_no_store(drain: Built) -> None:
    assert drain.top == OURS | REPORTLAB | {"urllib3"}
    assert PurePosixPath("functions/job_handlers/pdf.py") in drain.names
    assert drain.parts_of_ours.isdisjoint({"cli", "http", "stores"})


def test_no_package_holds_what_only_tests_need(package: Built) -> None:
    parts = {part.lower() for name in package.names for part in name.parts}

    assert parts.isdisjoint({"tests", "test", "conftest.py", "pytest", "scripts"})


@pytest.mark.parametrize("name", ["api", "deployed"])
def test_the_api_is_small(name: str, request: pytest.FixtureRequest) -> None:
    assert request.getfixturevalue(name).zip.stat().st_size <= API_BYTES_MAX


def test_every_module_has_byte_code_of_its_runtime_that_is_taken_unchecked(
    package: Built,
) -> None:
    look = "import importlib.util as u, json; print(json.dumps(u.MAGIC_NUMBER.hex()))"
    (magic,) = package.run(look)
    tag = "import json, sys; print(json.dumps(sys.implementation.cache_tag))"
    (version,) = package.run(tag)
    names = set(package.names)
    with zipfile.ZipFile(package.zip) as archive:
        for name in names:
            if name.suffix == ".py":
                compiled = name.parent / "__pycache__" / f"{name.stem}.{version}.pyc"
                assert compiled in names, name
                head = archive.read(str(compiled))[:8]
                assert head[:4].hex() == magic
                assert int.from_bytes(head[4:], "little") == UNCHECKED_HASH


def api_calls() -> Sequence[tuple[str, Any, int]]:
    """One call at least of each function, and the status of its answer."""
    asked, works, rules = producer(), worker(), admin()
    failed = json.dumps({"attempt": 1, "error": "password=hunter2"})
    return (
        ("enqueue", http_event("POST", "/jobs", asked, '{"type": "email"}'), 201),
        ("list", http_event("GET", "/jobs", asked), 200),
        ("claim", http_event("POST", "/jobs/claim", works, "{}"), 200),
        ("complete", http_event("POST", "/jobs/1/heartbeat", works, '{"attempt": 1}'), 200),
        ("fail", http_event("POST", "/jobs/1/fail", works, failed), 200),
        ("get", http_event("GET", "/jobs/1/attempts", rules), 200),
        ("operate", http_event("POST", "/jobs/1/cancel", rules, "{}"), 200),
        ("open", http_event("GET", "/health"), 200),
        ("open", http_event("GET", "/openapi.json"), 200),
    )


@pytest.mark.parametrize("name", ["api", "deployed"])
def test_each_function_answers_from_its_package_alone(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    package: Built = request.getfixturevalue(name)
    calls = api_calls()
    events = [(f"functions.{function}.handler", event) for function, event, _ in calls]
    events += [("functions.maintain.handler", event) for event in ({}, {"backup": True})]
    events.append(("functions.authorize.worker", {"identitySource": ["ql_worker_unknown"]}))

    *answers, upkeep, backup, authorized = package.run(
        CALLS,
        json.dumps(events),
        QUEUELOG_STORE=f"sqlite:///{tmp_path}/queuelog.db",
        QUEUELOG_KEYS=f"file:{tmp_path}/keys.json",
        QUEUELOG_BACKUPS=str(tmp_path / "backups"),
    )

    statuses = [answer["statusCode"] for answer in answers]
    assert statuses == [status for *_, status in calls], answers
    assert "hunter2" not in json.dumps(answers)
    assert upkeep["ok"] is True
    assert (tmp_path / "backups" / backup["backup"]).is_file()
    assert authorized == {"isAuthorized": False}
    called = {place.split(".")[1] for place, _ in events}
    packed = {path.stem for path in package.names if path.match("functions/*.py")}
    assert called == packed - {"__init__"}


def test_the_worker_drains_from_its_package_alone(drain: Built, tmp_path: Path) -> None:
    nothing_due = b'{"jobs": [], "next_due_in_seconds": null}'
    with scripted_server() as queue:
        queue.answer = (200, {"Content-Type": "application/json"}, nothing_due)
        (done,) = drain.run(
            CALLS,
            json.dumps([("functions.drain.handler", {})]),
            QUEUELOG_URL=queue.url,
            QUEUELOG_API_KEY="ql_worker_one",
            QUEUELOG_DRAIN_SECONDS="5",
            QUEUELOG_DRAIN_JOB_SECONDS="1",
            QUEUELOG_FOLDER=str(tmp_path),
        )

    assert set(done.values()) == {0}
    (asked,) = queue.asked
    assert (asked.method, asked.path) == ("POST", "/jobs/claim")
    assert asked.headers["X-API-Key"] == "ql_worker_one"


def test_the_worker_runs_every_handler_from_its_package_alone(drain: Built, tmp_path: Path) -> None:
    payloads = {
        "email": {"to": "ada@example.com"},
        "pdf": {"title": "A title", "text": "Some text."},
        "sync": {"source": "a", "target": "b"},
    }
    (tmp_path / "sync" / "a").mkdir(parents=True)

    email, pdf, sync = drain.run(JOBS, str(tmp_path), json.dumps(payloads))

    assert Path(email["file"]).read_bytes().startswith(b"Message-ID:")
    assert Path(pdf["file"]).read_bytes().startswith(b"%PDF")
    assert sync == {"files": 0, "bytes": 0}


def test_the_same_input_makes_the_same_bytes(api: Built, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"

    build(API, again, RUNNING, sys.executable)

    assert contents(again) == contents(api.zip)
    assert again.read_bytes() == api.zip.read_bytes()


def test_without_an_interpreter_of_the_runtime_nothing_is_built(tmp_path: Path) -> None:
    done = build_command("--runtime", "python3.99", "--out", str(tmp_path / "out"))

    assert done.returncode == 1
    assert done.stderr.startswith("build: there is no working python3.99 here")
    assert "make deploy BYTECODE=no" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_interpreter_that_does_not_run_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version managers leave such behind under the name of every version they know."""
    shim = tmp_path / "python3.98"
    monkeypatch.setenv("PATH", str(tmp_path))
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    with pytest.raises(SystemExit):
        interpreter_of("python3.98")

    shim.write_text("#!/bin/sh\necho python3.98\n")

    assert interpreter_of("python3.98") == str(shim)


def test_source_only_ships_no_byte_code_and_says_what_that_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build_lambda, "_install", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["build_lambda", "--source-only", "--out", str(tmp_path)])

    build_lambda.main()

    for name in ("api", "drain"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            suffixes = {PurePosixPath(each).suffix for each in archive.namelist()}
        assert ".py" in suffixes
        assert ".pyc" not in suffixes
    assert "source only: each cold start compiles it" in capsys.readouterr().out
