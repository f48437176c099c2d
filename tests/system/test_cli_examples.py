"""Every example that a `--help` shows works as it stands, against a demo server."""

import json
import shlex
import signal
import socket
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import cleandoc
from itertools import chain
from pathlib import Path

import pytest

from tests.support.servers import COMMAND, eventually, queuelog, running, serving
from tests.system.cli_scene import Shell, commands

GO_ON = ("queuelog serve", "queuelog work mail:worker")
STOPPED = ("queuelog db copy", "queuelog db restore")
SAMPLE_ID = "key_0123456789ab"
HANDLERS = """
from functions.job_handlers import handlers as shipped

def handlers(folder):
    return {"email": shipped(folder)["email"]}
"""
MAIL = """
from queuelog_core.worker import Worker

worker = Worker()

@worker.handler("email")
def send(job):
    return {"sent": True}
"""


def examples() -> list[str]:
    """All lines under Example or Examples, in the order of the commands."""
    found = []
    for _, command in commands():
        for paragraph in cleandoc(command.help or "").split("\n\n"):
            head, *lines = paragraph.removeprefix("\b\n").splitlines()
            found += [line.strip() for line in lines if head.startswith("Example")]
    return found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A folder and a queue in which the examples can work; the demo runs only email."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "own_handlers.py").write_text(HANDLERS)
    (folder / "mail.py").write_text(MAIL)
    (folder / "report.json").write_text('{"title": "Sales"}')
    (folder / "addresses.jsonl").write_text('{"to": "ada@example.com"}\n' * 2)
    (folder / "backups").mkdir()
    with serving(folder, "--demo", "--handlers", "own_handlers") as server:
        shell = Shell(server)
        key = shell.keys["ADMIN_KEY"]
        jobs = [server.enqueue(key, type="pdf", delay_seconds=wait)["id"] for wait in (0, 60, 60)]
        assert jobs == [1, 2, 3]
        claimed = server.call("POST", "/jobs/claim", key, {"types": ["pdf"]}).json
        told = {"attempt": claimed["attempt"], "error_code": "smtp_down", "retryable": False}
        assert server.call("POST", "/jobs/1/fail", key, told).status == 200
        yield shell


def test_every_example_works(shell: Shell) -> None:
    spare = json.loads(shell("keys", "create", "spare", "--role", "producer", "--json").stdout)

    def faults(lines: list[str]) -> list[tuple[str, int, str]]:
        ended = [(line, shell.script(line.replace(SAMPLE_ID, spare["id"]))) for line in lines]
        return [
            (line, done.returncode, done.stderr)
            for line, done in ended
            if done.returncode or "Traceback" in done.stderr or "error" in done.stderr
        ]

    by_command: defaultdict[str, list[str]] = defaultdict(list)
    for line in examples():
        if line not in GOING_ON and not line.startswith(STOPPED):
            by_command[line.partition("queuelog ")[2].split()[0]].append(line)
    with ThreadPoolExecutor(4) as pool:
        assert list(chain(*pool.map(faults, by_command.values()))) == []
    exported = Path(shell.server.folder, "jobs.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in exported][:3] == [1, 2, 3]
    assert Path(shell.server.folder, "backups", "monday.db").exists()
    statuses = {job["id"]: job["status"] for job in shell.lines("jobs", "list", "--type", "pdf")}
    assert [statuses[job_id] for job_id in (1, 2, 3)] == ["pending"] * 3


GOING_ON = [line for line in examples() if line.startswith(GO_ON) and "--drain" not in line]


@pytest.mark.parametrize("line", GOING_ON)
def test_an_example_that_goes_on_ends_with_ctrl_c(shell: Shell, line: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    _, *arguments = shlex.split(line.replace("8080", port))

    with running([str(COMMAND), *arguments], shell.server.folder, shell.environment()) as process:
        eventually(lambda: "serves http" in process.out or "works on" in process.log, "it is up")
        ended = process.stop(signal.SIGINT)

    assert ended == 0, process.log
    assert "Traceback" not in process.log


def test_the_examples_for_stopped_servers_work(tmp_path: Path) -> None:
    stopped = [line for line in examples() if line.startswith(STOPPED)]
    (tmp_path / "backups").mkdir()
    with serving(tmp_path):
        pass

    for line in ("queuelog db backup backups/monday.db", *stopped):
        done = queuelog(tmp_path, *shlex.split(line)[1:])
        assert done.returncode == 0, done.stderr


def test_there_are_examples_of_both_kinds() -> None:
    assert len(examples()) > 30
    assert len(GOING_ON) == 3
    assert all("queuelog " in line for line in examples())
