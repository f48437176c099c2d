"""`make run STORE=dynamodb`, in a copy whose path has a space."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.checkout import checkout, make_run
from tests.support.http import ROOT
from tests.support.servers import eventually
from tests.system.test_make import press_ctrl_c

STOP_SECONDS = 20.0
FOLDER = ".queuelog/dynamodb"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = checkout(tmp_path_factory.mktemp("copy") / "a folder")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    return folder


def engines_in(folder: Path) -> list[str]:
    """The command lines of the engines that have this folder's table open."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            lines.append((process / "cmdline").read_text("utf-8", "replace"))
    return [line for line in lines if f"{folder}/{FOLDER}" in line]


def test_it_serves_from_a_table_stops_on_ctrl_c_and_starts_again_with_the_data_kept(
    folder: Path,
) -> None:
    with make_run(folder, "PORT=0", "STORE=dynamodb") as first:
        keys = first.demo_keys()
        job = first.enqueue(keys["PRODUCER_KEY"], type="email", payload={"to": "ada@example.com"})
        done = first.job_once(keys["ADMIN_KEY"], job["id"], "completed", "failed")
        assert engines_in(folder)
        press_ctrl_c(first)
        assert "Stopping" in first.out
        assert "Traceback" not in first.log
    assert not engines_in(folder)
    with make_run(folder, "PORT=0", "STORE=dynamodb") as second:
        kept = second.job(keys["ADMIN_KEY"], job["id"])
        press_ctrl_c(second)

    assert done["status"] == "completed"
    assert kept == done
    assert not (folder / ".queuelog" / "queuelog.db").exists()


def test_the_engine_ends_with_a_server_that_is_killed(folder: Path) -> None:
    with make_run(folder, "PORT=0", "STORE=dynamodb") as server:
        assert engines_in(folder)

        os.killpg(server.process.pid, signal.SIGKILL)

        eventually(lambda: not engines_in(folder), "the engine has ended", STOP_SECONDS)


def test_a_second_server_on_the_same_folder_is_refused(folder: Path) -> None:
    with make_run(folder, "PORT=0", "STORE=dynamodb") as server:
        again = subprocess.run(
            ["make", "run", "PORT=0", "STORE=dynamodb"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        press_ctrl_c(server)

    assert again.returncode == 2
    assert f"{FOLDER} cannot be used" in again.stderr
    assert "Traceback" not in again.stderr


def test_a_store_that_is_not_known_is_named(folder: Path) -> None:
    done = subprocess.run(
        ["make", "run", "STORE=postgres"], cwd=folder, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "STORE is sqlite or dynamodb" in done.stderr
