"""`make soak`: the long tests, in named parts that can be resumed.

    python -m tests.soak [PART ...]

A step that passed is not run again while the code stays what it was; .soak/passed.json tells
which, and .soak/STEP.log what each printed.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

from tests.support.http import ROOT

FOLDER = ROOT / ".soak"
STEP_SECONDS_MAX = 7200
_PYTEST = ("pytest", "-q", "-s", f"--timeout={STEP_SECONDS_MAX}")


class Step(NamedTuple):
    """One run of a module of Python's, with settings of its own."""

    name: str
    module: tuple[str, ...]
    settings: Mapping[str, str] = {}

    def run(self) -> int:
        """Its exit status; what it prints goes to its log."""
        with (FOLDER / f"{self.name}.log").open("w") as log:
            return subprocess.run(
                [sys.executable, "-m", *self.module],
                cwd=ROOT,
                env={**os.environ, **self.settings},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode

    def figures(self) -> str:
        """The last line that it printed."""
        lines = (FOLDER / f"{self.name}.log").read_text("utf-8", "replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "nothing printed")


def _system(name: str, *options: str, **settings: str) -> Step:
    return Step(name, (*_PYTEST, f"tests/system/test_{name}.py", *options), settings)


def _model(name: str, steps: int) -> Step:
    return Step(name, ("tests.model.soak", name), {"QUEUELOG_MODEL_STEPS": str(steps)})


PARTS: dict[str, tuple[Step, ...]] = {
    "history": (
        _system("history", QUEUELOG_HISTORY_KILLS="5000"),
        _system("history_volume", QUEUELOG_HISTORY_KILLS="5000"),
        _system("history_dynamodb", QUEUELOG_HISTORY_KILLS="1000"),
    ),
    "model": (_model("model", 500_000),),
    "races": (
        _system("barrier_races", "-k", "not dynalite", QUEUELOG_ROUNDS="3000"),
        _system("barrier_races", "-k", "dynalite", QUEUELOG_ROUNDS="5000")._replace(
            name="barrier_races_dynamodb"
        ),
        _system("migration_races", QUEUELOG_ROUNDS="1000"),
        _system("rolling_restarts", QUEUELOG_RESTARTS="200"),
        _system("enqueue_under_kills", QUEUELOG_KILLS_SECONDS="60"),
        _system("stalls", QUEUELOG_STALLS="40"),
    ),
    "dynamodb": (
        Step(
            "drains",
            (*_PYTEST, "tests/stores/test_processes.py", "tests/stores/test_crashes.py"),
            {
                "QUEUELOG_DRAINED": "2000",
                "QUEUELOG_DRAINED_MINISTACK": "500",
                "QUEUELOG_CRASHED": "500",
            },
        ),
        Step("expiry", (*_PYTEST, "tests/stores/slow_expiry.py")),
        Step(
            "moto",
            (*_PYTEST, "tests/http", "tests/stores", "-k", "moto"),
            {"QUEUELOG_ENGINES": "all"},
        ),
        _model("model_dynamodb", 100_000),
    ),
    "faults": (
        _system("faults_store", QUEUELOG_FAULT_POINTS="all"),
        _system("faults_server", QUEUELOG_FAULT_POINTS="all"),
    ),
    "nfs": (Step("nfs", (*_PYTEST, "tests/nfs"), {"QUEUELOG_NFS_POINTS": "all"}),),
    "fuzz": (
        Step("parsers", ("tests.fuzz.soak_run", "60")),
        Step("schema", (*_PYTEST, "tests/fuzz/test_schema.py"), {"QUEUELOG_FUZZ_CASES": "20000"}),
        Step(
            "fronts",
            (*_PYTEST, "tests/fronts"),
            {"QUEUELOG_FRONTS": "all", "QUEUELOG_CLIENT_SECONDS": "30"},
        ),
    ),
}


def main(names: list[str]) -> int:
    """0 when every step passed, else 1; 2 for a part that is not there; 130 after Ctrl-C."""
    if unknown := set(names) - set(PARTS):
        sys.stderr.write(f"soak: no part {', '.join(unknown)}; there are {', '.join(PARTS)}\n")
        return 2
    FOLDER.mkdir(exist_ok=True)
    try:
        return max([_run_once(step) for name in names or PARTS for step in PARTS[name]])
    except KeyboardInterrupt:
        return 130


def _run_once(step: Step) -> int:
    code, file = _code(), FOLDER / "passed.json"
    passed = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if passed.get(step.name) == code:
        _say(f"{step.name}: passed before")
        return 0
    began_at = time.monotonic()
    status = step.run()
    _say(f"{step.name}: {step.figures()} ({time.monotonic() - began_at:.0f} s, status {status})")
    if status == 0:
        file.write_text(json.dumps({**passed, step.name: code}, indent=2), "utf-8")
    return min(status, 1)


def _code() -> str:
    """A digest of what is checked out, and of what was changed since."""
    told = ("git", "rev-parse", "HEAD"), ("git", "diff", "HEAD")
    parts = (subprocess.check_output(each, cwd=ROOT) for each in told)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
