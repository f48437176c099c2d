"""A run of the model from its seed to the verdict: all agreed, and enough was done to say so."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from queuelog_core.stores import Store
from tests.model.figures import Figures
from tests.model.reference import VERBS
from tests.model.run import run_model
from tests.support.seeds import seed

STEPS_WANTED = os.environ.get("QUEUELOG_MODEL_STEPS")
FIGURES = os.environ.get("QUEUELOG_MODEL_FIGURES")
SHARE_MIN, SHARE_WITH_EFFECT_MIN = 0.004, 0.6
JUDGED_FROM_STEPS = 20_000
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


def steps_of(small: int) -> int:
    """How many steps a run has: so many in `make test`."""
    return small if STEPS_WANTED is None else int(STEPS_WANTED)


def seconds_for(steps: int) -> float:
    """How long a run may take. A failure is shrunk for up to five minutes before it is told."""
    return 900 + steps // 10


def play(open_empty: Callable[[], Store], steps: int) -> None:
    """So many steps, each on an empty store for each example; whatever is wrong fails here."""
    started = time.monotonic()
    figures = run_model(open_empty, seed(), steps)
    seconds = time.monotonic() - started
    sys.stdout.write(f"{figures.table()}; {figures.steps / seconds:,.0f} steps a second\n")
    assert figures.steps >= steps
    if steps >= JUDGED_FROM_STEPS:
        _assert_meaningful(figures)
    if FIGURES is not None:
        Path(FIGURES).write_text(json.dumps(figures.to_json()), "utf-8")


def _assert_meaningful(figures: Figures) -> None:
    """No verb is rare, most calls change something, and every arrow between states is taken."""
    calls = sum(figures.calls.values())
    assert min(figures.of(verb) for verb in VERBS) >= SHARE_MIN * calls
    assert figures.share_with_effect >= SHARE_WITH_EFFECT_MIN
    assert set(ARROWS.strip().splitlines()) == figures.arrows.keys()
