"""The packages that scripts/build_lambda.py makes, unpacked and run as Lambda would run them."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from scripts.build_lambda import PACKAGES
from tests.support.http import ROOT

RUNNING = f"python{sys.version_info[0]}.{sys.version_info[1]}"
BUILD_SECONDS, RUN_SECONDS = 200, 60
# Put in the place of every module's source: only its byte code can be what runs.
COMPILED_ANEW = "raise SystemExit('compiled anew')\n"
CALLS = """
import importlib, json, sys
sys.path.insert(0, ".")
for place, event in json.loads(sys.argv[1]):
    module, _, name = place.rpartition(".")
    print(json.dumps(getattr(importlib.import_module(module), name)(event, None)))
strange = [m.__file__ for m in sys.modules.values()
           if "site-packages" in (getattr(m, "__file__", None) or "")]
assert not strange, strange
"""
JOBS = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, ".")
from functions.job_handlers import handlers
for name, run in handlers(Path(sys.argv[1])).items():
    payload = json.loads(sys.argv[2])[name]
    print(json.dumps(run(SimpleNamespace(id=7, payload=payload))))
"""


class Built(NamedTuple):
    """A package as it was built, unpacked, and an interpreter of its runtime."""

    zip: Path
    folder: Path
    python: str

    @property
    def names(self) -> list[PurePosixPath]:
        with zipfile.ZipFile(self.zip) as archive:
            return [PurePosixPath(name) for name in archive.namelist()]

    @property
    def top(self) -> set[str]:
        """Folders and modules at the top; what pip notes about a library is not one."""
        names = {name.parts[0].removesuffix(".py") for name in self.names}
        return {name for name in names if not name.endswith(".dist-info")} - {"__pycache__"}

    @property
    def parts_of_ours(self) -> set[str]:
        ours = (name for name in self.names if name.parts[0] == "queuelog_core")
        return {name.parts[1].removesuffix(".py") for name in ours}

    def run(self, script: str, *arguments: str, **settings: str) -> list[Any]:
        """The JSON lines that a script prints: this folder and Python's own library, no more."""
        done = subprocess.run(
            [self.python, "-I", "-S", "-B", "-c", script, *arguments],
            cwd=self.folder,
            env=settings,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def contents(target: Path) -> dict[str, int]:
    """Name and checksum of everything in a zip."""
    with zipfile.ZipFile(target) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def unpacked(target: Path, python: str) -> Built:
    folder = target.with_suffix("")
    with zipfile.ZipFile(target) as archive:
        archive.extractall(folder)
    for module in folder.rglob("*.py"):
        module.write_text(COMPILED_ANEW)
    return Built(target, folder, python)


def build_for_this_interpreter(out: Path) -> None:
    done = build_command("--out", str(out), "--runtime", RUNNING)
    assert done.returncode == 0, done.stderr
    for package in PACKAGES:
        unpacked(out / f"{package.name}.zip", sys.executable)


def build_command(*options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scripts.build_lambda", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
