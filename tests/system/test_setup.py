"""scripts/setup.sh: what emulates and deploys is installed once, and anew when its pins change."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.checkout import checkout

# Stands where npm would: it notes what it was asked for and installs nothing.
NPM = '#!/bin/sh\necho "$*" >>npm.log; rm -rf node_modules; mkdir node_modules\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "npm").write_text(NPM, "utf-8")
    (tmp_path / "bin" / "npm").chmod(0o755)
    return checkout(tmp_path / "a folder")


def set_up(folder: Path, purpose: str) -> str:
    """What it said; nothing when there was nothing to do."""
    done = subprocess.run(
        ["sh", "scripts/setup.sh", purpose],
        cwd=folder,
        env={"PATH": f"{folder.parent}/bin:{os.environ['PATH']}", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_offline_is_what_run_needs_and_node_modules(folder: Path) -> None:
    first = set_up(folder, "offline")

    assert first.splitlines() == [
        "queuelog: installing into .venv",
        "queuelog: installing into node_modules",
    ]
    assert "requirements-dev.txt" not in lines(folder / "pip.log")[0]
    assert len(lines(folder / "npm.log")) == 1
    assert set_up(folder, "offline") == set_up(folder, "run") == ""
    assert not (folder / ".venv-cloud").exists()


def test_the_tests_get_an_emulator_in_an_environment_of_its_own(folder: Path) -> None:
    first = set_up(folder, "test")
    second = set_up(folder, "test")
    with (folder / "requirements-cloud.txt").open("a") as pins:
        pins.write("# another pin\n")
    third = set_up(folder, "cloud")

    assert "queuelog: installing into .venv-cloud" in first
    assert second == ""
    assert third == "queuelog: installing into .venv-cloud\n"
    assert lines(folder / "pip.log")[2] == (
        "--python .venv-cloud/bin/python install --quiet --disable-pip-version-check --no-deps"
        " -r requirements-cloud.txt"
    )


def test_what_the_tests_need_can_be_installed_side_by_side(folder: Path) -> None:
    parts = {"checks": ".venv", "node": "node_modules", "cloud": ".venv-cloud"}

    said = {purpose: set_up(folder, purpose) for purpose in parts}

    assert said == {name: f"queuelog: installing into {place}\n" for name, place in parts.items()}
    assert set_up(folder, "test") == ""


def test_an_emulator_that_could_not_be_installed_is_tried_again(folder: Path) -> None:
    set_up(folder, "run")
    (folder / ".venv-cloud").mkdir()

    assert "installing into .venv-cloud" in set_up(folder, "cloud")
    assert set_up(folder, "cloud") == ""
