"""Environments into which the product is installed as somebody else does it."""

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.support.http import ROOT


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def run(
    command: Sequence[str | Path], folder: Path, **settings: str
) -> "subprocess.CompletedProcess[str]":
    """As in a new terminal: of the tests' own environment only where programs lie."""
    env = {"PATH": os.environ["PATH"], **settings}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def installed(folder: Path, what: str) -> Path:
    """The folder of the commands of a new environment."""
    venv.create(folder, symlinks=True)
    pip("--python", folder / "bin" / "python", "install", "-c", ROOT / "constraints.txt", what)
    return folder / "bin"
