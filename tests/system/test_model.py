"""Every verb in any order, compared after each step with a model written from the contract."""

import ast
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queuelog_core.stores import Store, open_store
from tests.model.figures import Figures
from tests.model.reference import VERBS
from tests.model.run import run_model
from tests.support.http import ROOT
from tests.support.seeds import seed

STEPS = int(os.environ.get("QUEUELOG_MODEL_STEPS", "25000"))
FIGURES = os.environ.get("QUEUELOG_MODEL_FIGURES")
MEMORY = Path("/dev/shm")
SHARE_MIN, SHARE_WITH_EFFECT_MIN = 0.004, 0.6
JUDGED_FROM_STEPS = 20_000
MODEL = ("calls", "world", "working", "attempts", "producing", "reading", "reference")
ARROWS = """
enqueue: none -> pending
batch: none -> pending
claim: pending -> running
claim: running -> pending
claim: running -> running
claim: running -> failed
claim: running -> cancelled
upkeep: running -> pending
upkeep: running -> failed
upkeep: running -> cancelled
heartbeat: running -> running
complete: running -> completed
complete: pending -> completed
complete: failed -> completed
complete: cancelled -> completed
fail: running -> pending
fail: running -> failed
fail: running -> cancelled
release: running -> pending
release: running -> pending by its limit
release: running -> failed by its limit
release: running -> cancelled
cancel: pending -> cancelled
cancel: running -> running
cancel: running -> cancelled
redrive: failed -> pending
redrive: cancelled -> pending
redrive_many: failed -> pending
redrive_many: cancelled -> pending
upkeep: completed -> none
upkeep: failed -> none
upkeep: cancelled -> none
"""


@pytest.fixture
def open_empty(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """A new store for each example, in memory where the machine has a folder for that."""
    place = MEMORY if MEMORY.is_dir() else tmp_path
    with tempfile.TemporaryDirectory(prefix="queuelog-model-", dir=place) as folder:
        numbers = itertools.count()
        yield lambda: open_store(f"sqlite:///{folder}/{next(numbers)}.db")


# A failure is shrunk for up to five minutes before it is told.
@pytest.mark.timeout(900 + STEPS // 20)
def test_each_answer_and_each_job_is_as_the_contract_tells(open_empty: Callable[[], Store]) -> None:
    started = time.monotonic()

    figures = run_model(open_empty, seed(), STEPS)

    seconds = time.monotonic() - started
    sys.stdout.write(f"{figures.table()}; {figures.steps / seconds:,.0f} steps a second\n")
    assert figures.steps >= STEPS
    if STEPS >= JUDGED_FROM_STEPS:
        assert_meaningful(figures)
    if FIGURES is not None:
        Path(FIGURES).write_text(json.dumps(figures.to_json()), "utf-8")


def assert_meaningful(figures: Figures) -> None:
    """No verb is rare, most calls change something, and every arrow between states is taken."""
    calls = sum(figures.calls.values())
    assert min(figures.of(verb) for verb in VERBS) >= SHARE_MIN * calls
    assert figures.share_with_effect >= SHARE_WITH_EFFECT_MIN
    assert set(ARROWS.strip().splitlines()) == figures.arrows.keys()


@pytest.mark.parametrize("name", MODEL)
def test_the_model_knows_nothing_of_the_product(name: str) -> None:
    tree = ast.parse((ROOT / "tests" / "model" / f"{name}.py").read_text("utf-8"))
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    own = {f"tests.model.{part}" for part in MODEL}

    for module in imported:
        assert module in own or str(module).split(".")[0] in sys.stdlib_module_names
