"""A wrong use of the command, and streams that take or give nothing: one line and a hint."""

import subprocess
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.servers import COMMAND, environment, make_key, serving
from tests.system.cli_scene import STEERING, Here, told


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["nonsense"], "queuelog --help"),
        (["stats", "--nonsense"], "queuelog stats --help"),
        (["stats", "--watch", "--interval", "1"], "queuelog stats --help"),
        (["stats", "--watch", "--interval", "9999999d"], "queuelog stats --help"),
        (["stats", "--interval", "1s"], "queuelog stats --help"),
        (["stats", "--rounds", "1"], "queuelog stats --help"),
        (["jobs", "tail", "--interval", "2s"], "queuelog jobs tail --help"),
        (["jobs", "tail", "--rounds", "1"], "queuelog jobs tail --help"),
        (["enqueue", "email", "--timeout", "5m"], "queuelog enqueue --help"),
        (["enqueue", "email", "--idempotency-key", ""], "queuelog enqueue --help"),
        (["enqueue", "email", "-", "--idempotency-key", ""], "queuelog enqueue --help"),
        (["jobs", "show"], "queuelog jobs show --help"),
        (["jobs", "show", "one"], "queuelog jobs show --help"),
        (["jobs", "attempts", "0"], "queuelog jobs attempts --help"),
        (["jobs", "redrive", "1", "2_0"], "queuelog jobs redrive --help"),
        (["jobs", "list", "--status", STEERING], "queuelog jobs list --help"),
        (["jobs", "list", "--created-after", "2026-11-29"], "queuelog jobs list --help"),
        (["jobs", "redrive"], "queuelog jobs redrive --help"),
        (["jobs", "redrive", "1", "--dry-run"], "queuelog jobs redrive --help"),
        (["jobs", "import", "no-such-file"], "queuelog jobs import --help"),
        (["enqueue", "email", "@no-such-file"], "queuelog enqueue --help"),
        (["enqueue", "email", "{"], "queuelog enqueue --help"),
        (["enqueue", "email", '{"a":' * 990 + "1" + "}" * 990], "queuelog enqueue --help"),
        (["enqueue", "email", "-", "--wait"], "queuelog enqueue --help"),
        (["enqueue", "\udcff"], "queuelog enqueue --help"),
        (["enqueue", "email", "\udcff"], "queuelog enqueue --help"),
        (["jobs", "list", "--type", "\udcff"], "queuelog jobs list --help"),
        (["keys", "create", "shop"], "queuelog keys create --help"),
        (["completion", "csh"], "queuelog completion --help"),
    ],
)
def test_a_wrong_use_is_told_like_all_other_errors(
    here: Here, command: list[str], hint: str
) -> None:
    ended, lines = told(here, *command)

    assert ended == 2
    assert [name for name, _ in lines] == ["error", "hint"]
    assert lines[1][1] == hint


@pytest.mark.parametrize("command", ["show", "attempts", "cancel", "redrive"])
@pytest.mark.parametrize(
    "job_id", ["1_0", "\u0661", "007", " +7", "+7", "7 ", "7\n", "1.0", "0", "", "9" * 17]
)
def test_an_id_is_written_as_the_api_writes_it(here: Here, command: str, job_id: str) -> None:
    ended, lines = told(here, "jobs", command, job_id)

    assert ended == 2
    assert "looks like 1234" in lines[0][1]


def test_a_job_waits_a_year_at_most(here: Here) -> None:
    ended, lines = told(here, "enqueue", "email", "--delay", "366d")

    assert ended == 2
    assert lines[0][1] == "Invalid value for '--delay': is at most 365d"
    assert here("enqueue", "email", "--delay", "365d").exit_code == 0


@pytest.mark.parametrize("command", [(), ("jobs",), ("keys",), ("db",)])
def test_a_group_alone_shows_what_there_is(here: Here, command: tuple[str, ...]) -> None:
    done = here(*command)

    assert done.exit_code == 2
    assert done.stderr.startswith(" ".join(("Usage: queuelog", *command)))


@pytest.mark.parametrize(
    "command", ["enqueue email -", "jobs import -", "jobs import", "db purge --older-than 1d"]
)
def test_a_stdin_that_is_closed_is_told_in_a_line(tmp_path: Path, command: str) -> None:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server:
        done = subprocess.run(
            ["sh", "-c", f"{COMMAND} {command} <&-"],
            cwd=tmp_path,
            env=environment(QUEUELOG_URL=server.url, QUEUELOG_API_KEY=key),
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["--help", "jobs --help", "completion bash", "--version"])
def test_a_stdout_that_is_full_is_told_in_a_line(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{COMMAND} {command} >/dev/full"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")
