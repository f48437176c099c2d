"""Faults of the disk under a real server: 503 with a time to wait and never a 500, or no start;
afterwards it serves as if nothing had failed."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.faults import Point
from tests.support.faults_points import KINDS, POINTS, every_point, some_points, strike_all
from tests.support.faults_server import Seen, served, started
from tests.support.seeds import seed

MODES = ("local", "network")
SERVED = {"while it serves": (served, 16), "at its start": (started, 32)}
"""How it is run, and one of how many of the store's points it has in `make test`."""
Run = Callable[[Path, str, Point | None], Seen]


def points_for(clean: Seen, part: int) -> list[Point]:
    """Some; or every call, each with one of the errors."""
    number = seed()
    if POINTS != "all":
        return some_points(clean.calls, max(1, int(POINTS) // part), number)
    kinds = len(KINDS)
    return [
        p
        for n, p in enumerate(every_point(clean.calls))
        if n % kinds == (n // kinds + number) % kinds
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("run", "part"), SERVED.values(), ids=SERVED.keys())
def test_a_server_tells_each_fault_and_serves_on(
    tmp_path: Path, run: Run, part: int, mode: str
) -> None:
    (tmp_path / "clean").mkdir()
    clean = run(tmp_path / "clean", mode, None)
    assert (clean.refusals, clean.injected) == (0, 0)

    def strike(point: Point) -> str:
        with tempfile.TemporaryDirectory(dir=tmp_path) as home:
            seen = run(Path(home), mode, point)
        assert seen.injected == 1 or (seen.injected and point.lasting), f"{seen.injected} hit"
        assert seen.story == clean.story
        return f"{point.call} refused" if seen.refusals else f"{point.call} got over"

    words = strike_all(strike, points_for(clean, part))

    told = {word: words.count(word) for word in sorted(set(words))}
    sys.stdout.write(f"{mode}: {len(words)} points of calls {dict(clean.calls)}: {told}\n")
