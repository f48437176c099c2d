"""What `--json` prints is JSON lines, of every command."""

import json
import signal
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.http import ROOT, Api
from tests.support.servers import COMMAND, environment, eventually, make_key, running, serving
from tests.system.cli_scene import Here, commands

JOB = {"id", "type", "payload", "status", "result", "error"}
PRINTED: dict[str, tuple[str, set[str]]] = {
    "enqueue": ("pdf", JOB),
    "jobs list": ("", JOB),
    "jobs show": ("1", JOB),
    "jobs attempts": ("1", {"attempt", "outcome", "error"}),
    "jobs cancel": ("2", {"id", "status", "cancel_requested"}),
    "jobs redrive": ("2", {"id", "status"}),
    "jobs tail": ("", JOB),
    "jobs export": ("", JOB),
    "jobs import": ("jobs.jsonl", {"line", "id", "replayed"}),
    "stats": ("", {"as_of", "types", "due"}),
    "top": ("--rounds 1", {"stats", "running", "failed"}),
    "keys create": ("blog --role producer", {"id", "name", "role", "key"}),
    "keys list": ("", {"id", "name", "role", "created_at", "revoked_at"}),
    "keys rotate": ("shop", {"id", "name", "role", "key"}),
    "keys revoke": ("KEY", {"id", "name", "role", "revoked_at"}),
    "db backup": ("monday.db", {"path", "bytes"}),
    "db check": ("", {"ok", "faults"}),
    "db copy": (
        "--from sqlite:///sunday.db --to sqlite:///moved.db",
        {"ok", "jobs", "copied", "settled", "digest", "changed", "missing", "extra"},
    ),
    "db migrate": ("", {"before", "after"}),
    "db restore": ("sunday.db --yes", {"aside"}),
    "db purge": ("--older-than 7d --yes", {"purged"}),
    "completion": ("bash", {"shell", "script"}),
}
GO_ON = {"serve", "work"}
"""They print JSON too, but go on: tested below."""
MORE = [
    (
        "db copy",
        "--from sqlite:///sunday.db --to sqlite:///moved.db --dry-run",
        {"jobs", "there", "bytes", "types", "running", "write_units", "cost_usd"},
    ),
    ("jobs redrive", "--status cancelled --dry-run", {"matched", "more"}),
    ("jobs redrive", "--status cancelled --yes", {"redriven"}),
]


@pytest.fixture
def here(api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    """A completed job 1 and a cancelled job 2, a key of shop, a server's files and a backup."""
    api.enqueue(payload={"text": "two\u2028lines\x85\n"})
    api.report("complete", api.claim())
    api.enqueue()
    api.call("POST", "/jobs/2/cancel")
    (tmp_path / "jobs.jsonl").write_text('{"type": "sync"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUEUELOG_STORE", "sqlite:///queuelog.db")
    monkeypatch.setenv("QUEUELOG_KEYS", "file:keys.json")
    monkeypatch.setenv("QUEUELOG_JOB_TYPES", str(ROOT / "infra" / "job_types.toml"))
    here = Here(api, monkeypatch)
    assert here("db", "backup", "sunday.db").exit_code == 0
    return here


def test_there_is_a_row_for_every_command() -> None:
    assert {f"queuelog {name}" for name in PRINTED.keys() | GO_ON} == dict(commands()).keys()


@pytest.mark.parametrize(
    ("command", "arguments", "names"),
    [*((name, *row) for name, row in PRINTED.items()), *MORE],
)
def test_json_is_a_document_on_each_line(
    here: Here, command: str, arguments: str, names: set[str]
) -> None:
    (key,) = here.lines("keys", "create", "shop", "--role", "producer", "--json")

    documents = here.lines(*command.split(), *arguments.replace("KEY", key["id"]).split(), "--json")

    assert documents
    assert all(names <= document.keys() for document in documents)


def test_a_restore_names_the_file_that_was_there_only_if_there_was_one(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    restore = ("db", "restore", "sunday.db", "--yes")
    monkeypatch.setenv("QUEUELOG_STORE", "sqlite:///plain.db")
    first, second = here(*restore), here(*restore)
    monkeypatch.setenv("QUEUELOG_STORE", "sqlite:///json.db")

    assert here.lines(*restore, "--json") == [{"aside": None}]
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr == "restored; no file was there before\n"
    (aside,) = tmp_path.glob("plain.db.before-*")
    assert (second.stdout, second.stderr) == (f"{aside}\n", "")


def test_a_server_prints_its_address_as_json(tmp_path: Path) -> None:
    command = [str(COMMAND), "serve", "--port", "0", "--json"]
    with running(command, tmp_path, environment()) as server:
        eventually(lambda: server.out.endswith("\n"), "it serves")
        ended = server.stop(signal.SIGINT)

    assert ended == 0
    assert json.loads(server.out)["url"].startswith("http://127.0.0.1:")


def test_a_worker_prints_what_it_has_done_as_json_when_it_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from queuelog_core.worker import Worker\n"
        "worker = Worker(poll_seconds_max=0.2)\n"
        "worker.handler('email')(lambda job: job.payload['to'])\n"
    )
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server:
        good = server.enqueue(key, type="email", payload={"to": "ada"})["id"]
        bad = server.enqueue(key, type="email", max_retries=0)["id"]
        settings = environment(QUEUELOG_URL=server.url, QUEUELOG_API_KEY=key)
        with running([str(COMMAND), "work", "own", "--json"], tmp_path, settings) as worker:
            server.job_once(key, good, "completed")
            server.job_once(key, bad, "failed")
            ended = worker.stop(signal.SIGTERM)

    assert ended == 0, worker.log
    assert json.loads(worker.out) == {"completed": 1, "failed": 1, "released": 0, "lost": 0}
