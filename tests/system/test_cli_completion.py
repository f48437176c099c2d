"""The script that `queuelog completion` prints, in a real shell."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.servers import COMMAND, queuelog


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    done = queuelog(folder, "completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    path = folder / "queuelog.bash"
    path.write_text(done.stdout)
    return path


def bash(text: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", text], env=env, capture_output=True, text=True, timeout=30, check=False
    )


def test_the_script_is_one_that_bash_can_read(script: Path) -> None:
    done = bash(f"bash -n {script}")

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["jo"], "jobs"),
        (["jobs", "re"], "redrive"),
        (["jobs", "list", "--stat"], "--status"),
        (["jobs", "list", "--status", "fa"], "failed"),
    ],
)
def test_bash_completes_commands_options_and_choices(
    script: Path, words: list[str], completed: str
) -> None:
    done = bash(
        f"source {script}; COMP_WORDS=(queuelog {' '.join(words)}); COMP_CWORD={len(words)}\n"
        "_queuelog_completion queuelog; printf '%s\\n' \"${COMPREPLY[@]}\""
    )

    assert (done.stdout, done.stderr) == (f"{completed}\n", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_of_their_own(tmp_path: Path, shell: str) -> None:
    done = queuelog(tmp_path, "completion", shell, "--json")

    printed = json.loads(done.stdout)
    assert list(printed) == ["shell", "script"]
    assert f"_QUEUELOG_COMPLETE={shell}_complete" in printed["script"]
