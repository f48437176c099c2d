"""Every verb in any order, compared after each step with a model written from the contract."""

import ast
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queuelog_core.stores import Store, open_store
from tests.model.judging import play, seconds_for, steps_of
from tests.support.http import ROOT

STEPS = steps_of(25_000)
MEMORY = Path("/dev/shm")
MODEL = ("calls", "world", "working", "attempts", "producing", "reading", "reference")


@pytest.fixture
def open_empty(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """A new store for each example, in memory where the machine has a folder for that."""
    place = MEMORY if MEMORY.is_dir() else tmp_path
    with tempfile.TemporaryDirectory(prefix="queuelog-model-", dir=place) as folder:
        numbers = itertools.count()
        yield lambda: open_store(f"sqlite:///{folder}/{next(numbers)}.db")


@pytest.mark.timeout(seconds_for(STEPS))
def test_each_answer_and_each_job_is_as_the_contract_tells(open_empty: Callable[[], Store]) -> None:
    play(open_empty, STEPS)


@pytest.mark.parametrize("name", MODEL)
def test_the_model_knows_nothing_of_the_product(name: str) -> None:
    tree = ast.parse((ROOT / "tests" / "model" / f"{name}.py").read_text("utf-8"))
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    own = {f"tests.model.{part}" for part in MODEL}

    for module in imported:
        assert module in own or str(module).split(".")[0] in sys.stdlib_module_names
