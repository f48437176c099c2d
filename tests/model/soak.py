"""`python -m tests.model.soak NAME`: a test of the model again and again, two processes at a time.

NAME is `model`, or `model_dynamodb`. QUEUELOG_MODEL_STEPS (500,000) are run in rounds with seeds of
their own. What is done stands in .soak/NAME.json; after a failure or Ctrl-C the rest is run the
next time.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests.model.figures import Figures
from tests.support.http import ROOT
from tests.support.seeds import seed

STEPS_PER_ROUND = 25_000
PROCESSES = 2
FOLDER = ROOT / ".soak"


def main(name: str) -> int:
    """0 if all rounds passed, 1 if one failed, 130 after Ctrl-C."""
    rounds = -(-int(os.environ.get("QUEUELOG_MODEL_STEPS", "500000")) // STEPS_PER_ROUND)
    file = FOLDER / f"{name}.json"
    record = _record(file, rounds)
    numbers = random.Random(record["seed"])
    seeds = [str(numbers.randrange(2**32)) for _ in range(rounds)]
    left = [number for number in seeds if number not in record["rounds"]]
    _say(f"QUEUELOG_SEED={record['seed']}: {len(left)} of {rounds} rounds are left")
    pool = ThreadPoolExecutor(PROCESSES)
    try:
        run = partial(_run, name)
        done = zip(left, pool.map(run, left), strict=True)
        passed = [_note(file, record, *each) for each in done]
    except KeyboardInterrupt:
        return 130
    finally:
        pool.shutdown(cancel_futures=True)
    _say(_total(record).table())
    return 0 if all(passed) else 1


def _note(
    file: Path, record: dict[str, Any], number: str, done: tuple[dict[str, Any] | None, str]
) -> bool:
    """Write down a round that passed, show one that failed; which of both it was."""
    figures, log = done
    if figures is None:
        _say(log)
        return False
    record["rounds"][number] = figures
    file.write_text(json.dumps(record), "utf-8")
    _say(f"{len(record['rounds'])} rounds are done")
    return True


def _record(file: Path, rounds: int) -> dict[str, Any]:
    """What an earlier run has left undone, or a new one."""
    FOLDER.mkdir(exist_ok=True)
    if file.exists():
        record: dict[str, Any] = json.loads(file.read_text("utf-8"))
        given = os.environ.get("QUEUELOG_SEED", str(record["seed"]))
        if len(record["rounds"]) < rounds and given == str(record["seed"]):
            return record
    return {"seed": seed(), "rounds": {}}


def _run(name: str, number: str) -> tuple[dict[str, Any] | None, str]:
    """One round: its figures unless it failed, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"tests/system/test_{name}.py"],
            cwd=ROOT,
            env={
                **os.environ,
                "QUEUELOG_SEED": number,
                "QUEUELOG_MODEL_STEPS": str(STEPS_PER_ROUND),
                "QUEUELOG_MODEL_FIGURES": str(figures),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return (json.loads(figures.read_text()) if done.returncode == 0 else None), done.stdout


def _total(record: dict[str, Any]) -> Figures:
    total = Figures()
    for figures in record["rounds"].values():
        total.add(figures)
    return total


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
