"""Processes whose wall clock is off: libfaketime shifts what they see of it, and no other clock."""

import os
import subprocess
from pathlib import Path

from tests.support.http import ROOT

# libfaketime 0.9.10 takes the monotonic deadline of Python's own sleep for one of the wall clock.
_SITE = """
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds)
"""


def shifted(folder: Path, seconds: int) -> dict[str, str]:
    """Settings under which a process sees a wall clock that is off by so much."""
    return {**_faked(folder), "FAKETIME": f"{seconds:+d}s"}


class WallClock:
    """A wall clock that is set while a process runs under its `settings`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "faketimerc"
        self.settings = {
            **_faked(folder),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
        }
        self.set(0)

    def set(self, seconds: float) -> None:
        """Let it be off by so much from now on."""
        written = self._file.with_suffix(".new")
        written.write_text(f"{seconds:+.3f}s\n")
        written.replace(self._file)


def _faked(folder: Path) -> dict[str, str]:
    asked = ["faketime", "-m", "-f", "+0s", "printenv", "LD_PRELOAD"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True)
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SITE, "utf-8")
    return {
        "LD_PRELOAD": found.stdout.strip(),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
    }
