"""`make run` and scripts/setup.sh, in a copy whose path has a space."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.checkout import checkout, copy_of_work_tree, make_run
from tests.support.servers import Server, call

STOP_SECONDS = 20.0


def press_ctrl_c(server: Server) -> None:
    """What a terminal does: one SIGINT to make, its shells and the server."""
    os.killpg(server.process.pid, signal.SIGINT)
    server.process.wait(STOP_SECONDS)


def test_make_run_serves_stops_on_ctrl_c_and_starts_again_with_the_data_kept(
    tmp_path: Path,
) -> None:
    folder = checkout(tmp_path / "a folder")

    with make_run(folder, "PORT=0") as first:
        keys = first.demo_keys()
        job = first.enqueue(keys["PRODUCER_KEY"], type="email", payload={"to": "ada@example.com"})
        done = first.job_once(keys["ADMIN_KEY"], job["id"], "completed", "failed")
        press_ctrl_c(first)
        assert "Stopping" in first.out
        assert "Traceback" not in first.log
    with pytest.raises(ConnectionRefusedError):
        call(first.url, "GET", "/health")
    with make_run(folder, "PORT=0") as second:
        kept = second.job(keys["ADMIN_KEY"], job["id"])
        press_ctrl_c(second)

    assert done["status"] == "completed"
    assert (folder / done["result"]["file"]).is_file()
    assert kept == done
    assert len(installs(folder)) == 2, "the second run installs nothing"


def test_make_run_passes_the_port_on_and_says_when_it_is_taken(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "a folder")
    with make_run(folder, PORT="0") as server:
        port = server.url.rpartition(":")[2]

        again = subprocess.run(
            ["make", "run", f"PORT={port}"], cwd=folder, capture_output=True, text=True, check=False
        )

    assert again.returncode == 2
    assert f"error: 127.0.0.1:{port} is taken" in again.stderr
    assert "Traceback" not in again.stderr


def test_make_run_installs_the_pinned_packages_and_not_the_tools_of_the_tests(
    tmp_path: Path,
) -> None:
    folder = checkout(tmp_path / "a folder")

    with make_run(folder, "PORT=0"):
        packages, itself = installs(folder)

    assert re.findall(r"-[cr] (\S+)", packages) == ["constraints.txt", "requirements.txt"]
    assert itself.endswith("--no-deps -e .")


def test_make_run_installs_again_once_the_pins_have_changed(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "a folder")
    with make_run(folder, "PORT=0"):
        pass
    with (folder / "constraints.txt").open("a") as pins:
        pins.write("# another pin\n")

    with make_run(folder, "PORT=0"):
        pass

    assert len(installs(folder)) == 4


def installs(folder: Path) -> list[str]:
    """How pip was called, call by call."""
    return (folder / "pip.log").read_text("utf-8").splitlines()


PYTHON = f'exec "{sys.executable}" "$@"'
OLD_PYTHON = "exit 1"
BARE_PYTHON = f'case "$*" in *ensurepip*) exit 1 ;; esac; {PYTHON}'
OLD_NODE = "exit 1"
THERE = "exit 0"
TOOLS = {"python3": PYTHON, **dict.fromkeys(("git", "strace", "faketime", "node"), THERE)}


def without(name: str) -> dict[str, str]:
    return {tool: script for tool, script in TOOLS.items() if tool != name}


LACKING = [
    ("run", {}, "Python 3.11"),
    ("run", {"python3": OLD_PYTHON}, "Python 3.11"),
    ("run", {"python3": OLD_PYTHON, "python3.12": BARE_PYTHON}, "venv and pip for python3.12"),
    ("run", {"python3": BARE_PYTHON}, "venv and pip for python3"),
    ("test", {}, "Python 3.11"),
    ("test", without("git"), "git"),
    ("test", without("strace"), "strace"),
    ("test", without("faketime"), "faketime"),
    ("test", without("node"), "node 20"),
    ("test", {**TOOLS, "node": OLD_NODE}, "node 20"),
]


@pytest.mark.parametrize(("purpose", "tools", "named"), LACKING)
def test_what_the_machine_lacks_is_named_within_a_second_with_the_command_that_brings_it(
    tmp_path: Path, purpose: str, tools: dict[str, str], named: str
) -> None:
    folder = copy_of_work_tree(tmp_path / "a folder")
    path = machine_with(tmp_path / "bin", tools)

    seconds, done = timed_setup(folder, path, purpose)

    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(
        rf"queuelog: this machine lacks {named}.*\. On Debian: apt-get install [a-z0-9 -]+\n",
        done.stderr,
    ), done.stderr
    assert seconds < 1
    assert not (folder / ".venv").exists()


def machine_with(folder: Path, tools: dict[str, str]) -> str:
    """A PATH with a shell, the plainest tools, and these scripts."""
    folder.mkdir()
    for name in ("sh", "cat", "cksum", "tr"):
        (folder / name).symlink_to(shutil.which(name) or name)
    for name, script in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


def timed_setup(
    folder: Path, path: str, purpose: str
) -> "tuple[float, subprocess.CompletedProcess[str]]":
    """The best of three, for this machine may be busy with something else."""
    for _ in range(3):
        began = time.monotonic()
        done = subprocess.run(
            ["sh", "scripts/setup.sh", purpose],
            cwd=folder,
            env={"PATH": path, "PIP_NO_INDEX": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if seconds < 1:
            break
    return seconds, done
