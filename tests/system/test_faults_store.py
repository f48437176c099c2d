"""Faults at every n-th write, sync, truncation and deletion: what was acknowledged is there, what
was refused can be sent again, and the end is as if nothing had failed."""

import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.faults import Point
from tests.support.faults_child import Seen, look_again, watched
from tests.support.faults_points import chosen, strike_all
from tests.support.seeds import seed

MODES = ("local", "network")
COMMITS = 15
"""At least so many has the script."""
SHARE = 1 / len(MODES)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What is seen in each mode when nothing fails, which also counts the calls."""

    @cache
    def without_faults(mode: str) -> Seen:
        seen = watched(tmp_path_factory.mktemp(mode), mode)
        assert (seen.injected, seen.told.refusals, seen.told.recovered) == (0, 0, 0)
        return seen

    return without_faults


def strike(folder: Path, mode: str, point: Point, clean: Seen) -> str:
    """How a fault went by: whether it was refused, got over by the store, or by SQLite."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        told, injected, _ = watched(Path(home), mode, point)
        assert injected == 1 or (injected and point.lasting), f"{injected} calls were hit"
        assert told.before == clean.told.before
        assert told.after == clean.told.after
        assert look_again(Path(home) / "queuelog.db", mode, told) == told.after
    if point.lasting:
        return f"{told.refusals} times"
    assert told.refusals + told.recovered <= 1, told
    return "refused" if told.refusals else "retried" if told.recovered else "without effect"


@pytest.mark.parametrize("mode", MODES)
def test_no_fault_of_the_disk_loses_doubles_or_misreports_a_job(
    tmp_path: Path, clean: Callable[[str], Seen], mode: str
) -> None:
    seen = clean(mode)
    points = chosen(seen.calls, SHARE, seed())

    words = strike_all(lambda point: strike(tmp_path, mode, point, seen), points)

    told = {word: words.count(word) for word in sorted(set(words))}
    sys.stdout.write(f"{mode}: {len(points)} points of calls {dict(seen.calls)}: {told}\n")
    assert "refused" in told
    assert any(word.endswith("times") for word in told)


def test_a_point_that_hits_nothing_is_a_failure(
    tmp_path: Path, clean: Callable[[str], Seen]
) -> None:
    """A filter that fits no call would make every run pass."""
    beyond = Point("fdatasync", clean("local").calls["fdatasync"] + 1)

    with pytest.raises(AssertionError, match="0 calls were hit"):
        strike_all(lambda point: strike(tmp_path, "local", point, clean("local")), [beyond])


@pytest.mark.parametrize(
    ("mode", "of_the_mode"), [("local", "ftruncate"), ("network", "unlink")], ids=MODES
)
def test_the_faults_reach_every_kind_of_call_that_the_store_makes(
    clean: Callable[[str], Seen], mode: str, of_the_mode: str
) -> None:
    """A filter that forgot one of the files would miss many."""
    calls = clean(mode).calls

    assert calls["fsync"]
    assert min(calls["fdatasync"], calls["pwrite64"]) > COMMITS
    assert calls[of_the_mode] > (COMMITS if mode == "network" else 0)
