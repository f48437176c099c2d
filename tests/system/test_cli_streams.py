"""Streams that cannot take everything: whatever encodes them, and a stdout that is closed."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.servers import (
    COMMAND,
    STOP_SECONDS,
    environment,
    eventually,
    make_key,
    running,
    serving,
)
from tests.system.cli_scene import Screen, Shell

PARTY = "\u00e9 \u4f60\u597d \U0001f389 \u00a5"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Job 1 has failed with words that only Unicode can hold."""
    folder = tmp_path_factory.mktemp("streams")
    key = make_key(folder, "root", Role.ADMIN)
    with serving(folder, "--no-upkeep") as server:
        server.enqueue(key, type="email", payload={"text": PARTY})
        job = server.call("POST", "/jobs/claim", key, {}).json
        told = {"attempt": job["attempt"], "error": PARTY, "retryable": False}
        assert server.call("POST", "/jobs/1/fail", key, told).status == 200
        yield Shell(server, {"ADMIN_KEY": key})


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252:replace", "shift_jis", "utf-8"])
@pytest.mark.parametrize("command", ["jobs export --status failed", "jobs show 1 --json"])
def test_json_is_whole_and_can_be_imported_however_stdout_is_encoded(
    shell: Shell, command: str, encoding: str
) -> None:
    done = shell(*command.split(), PYTHONIOENCODING=encoding)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii() == (encoding != "utf-8")
    assert json.loads(done.stdout)["payload"] == {"text": PARTY}
    imported = shell("jobs", "import", "--finished", "--json", stdin=done.stdout)
    made = json.loads(imported.stdout)["id"]
    assert shell.lines("jobs", "show", str(made))[0]["payload"] == {"text": PARTY}


@pytest.mark.parametrize("command", ["jobs show 1", "jobs attempts 1", "jobs export --limit 1"])
@pytest.mark.parametrize("piped", [False, True])
def test_people_see_an_escape_for_what_their_terminal_cannot_encode(
    shell: Shell, command: str, piped: bool
) -> None:
    settings = {"PYTHONIOENCODING": "tis-620"}

    seen = Screen(shell)(*command.split(), settings=settings, piped=piped)

    shown = seen.out if piped else seen.screen
    assert seen.code == 0, shown
    assert (r"\ud83c\udf89" if "export" in command else r"\U0001f389") in shown


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_the_name_of_a_file_goes_out_as_it_came_in(shell: Shell, encoding: str) -> None:
    line = f"queuelog db backup $'{encoding}\\xff.db'"

    done = shell.script(f'cat -- "$({line})" | wc -c', PYTHONIOENCODING=encoding)

    assert int(done.stdout) > 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "completion bash",
        "jobs show 1",
        "jobs export",
        "jobs list --status failed",
        "stats --watch --rounds 2 --interval 1s",
        "keys list --json",
    ],
)
def test_a_stdout_that_is_closed_is_told_in_a_line(shell: Shell, command: str) -> None:
    done = shell.script(f"queuelog {command} >&-")

    assert (done.returncode, done.stderr) == (1, "error: stdout is closed\n")


def test_a_server_needs_no_stdout(tmp_path: Path) -> None:
    command = ["sh", "-c", f"exec {COMMAND} serve --port 0 --json >&-"]
    with running(command, tmp_path, environment()) as server:
        eventually(lambda: "serves http" in server.log, "it serves")
        ended = server.stop(signal.SIGTERM)

    assert ended == 0, server.log
    assert "Traceback" not in server.log


def test_handlers_may_print_where_there_is_no_stdout(shell: Shell) -> None:
    Path(shell.server.folder, "loud.py").write_text(
        "from queuelog_core.worker import Worker\n"
        "print('loaded')\n"
        "worker = Worker()\n"
        "worker.handler('sync')(lambda job: print(job.id))\n"
    )
    made = shell("enqueue", "sync").stdout.strip()

    done = shell.script("queuelog work loud --drain --json >&-")

    assert done.returncode == 0, done.stderr
    assert shell.lines("jobs", "show", made)[0]["status"] == "completed"


def test_ctrl_c_tells_how_many_lines_were_read_and_not_enqueued(shell: Shell) -> None:
    producer = "yes {} | head -n 107; echo nonsense; sleep 60"
    command = ["sh", "-c", f"trap : INT; ({producer}) | exec {COMMAND} enqueue email -"]
    with running(command, shell.server.folder, shell.environment()) as group:
        eventually(lambda: "line 108" in group.log, "all lines are read")
        os.killpg(group.process.pid, signal.SIGINT)
        ended = group.process.wait(STOP_SECONDS)

    assert ended == 130
    assert group.out.count("\n") == 100
    assert "interrupted: lines read and not known to be enqueued: 7\n" in group.log
