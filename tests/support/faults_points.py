"""Which of all points faults strike at: every one, or so many that are spread over all kinds."""

import itertools
import math
import os
import random
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.support.faults import ERRORS, Point

POINTS = os.environ.get("QUEUELOG_FAULT_POINTS", "80")
AT_ONCE = 2
KINDS = list(itertools.product(ERRORS, (False, True)))
"""Error, and whether it lasts."""


def every_point(calls: Mapping[str, int]) -> list[Point]:
    return [
        Point(call, number, error, lasting)
        for call, count in calls.items()
        for number in range(1, count + 1)
        for error, lasting in KINDS
    ]


def some_points(calls: Mapping[str, int], most: int, seed: int) -> list[Point]:
    """Each kind of call has its share, evenly spaced; a seed moves them all."""
    chance = random.Random(seed)
    # In proportion, a rare call would have none and be just as able to lose a job.
    weights = {call: math.sqrt(count) for call, count in calls.items()}
    points = []
    for call, count in calls.items():
        share = max(1, round(most * weights[call] / sum(weights.values())))
        first = chance.random()
        kinds = itertools.cycle(chance.sample(KINDS, len(KINDS)))
        for place in range(share):
            number = int((place + first) / share * count) + 1
            points.append(Point(call, number, *next(kinds)))
    return list(dict.fromkeys(points))


def chosen(calls: Mapping[str, int], share: float, seed: int) -> list[Point]:
    """What QUEUELOG_FAULT_POINTS asks for: `all`, or a number, of which this is a share."""
    assert calls, "the script called nothing"
    if POINTS == "all":
        return every_point(calls)
    return some_points(calls, round(int(POINTS) * share), seed)


def strike_all(strike: Callable[[Point], str], points: Sequence[Point]) -> Sequence[str]:
    """A word about each point that `strike` returns; all failures in one."""

    def told(point: Point) -> tuple[str, str]:
        try:
            return strike(point), ""
        except Exception:
            return "", f"--- {point}: {traceback.format_exc(limit=-2)}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(told, points))
    failures = [failure for _, failure in answers if failure]
    assert not failures, "\n".join([f"{len(failures)} of {len(points)} points", *failures[:5]])
    return [word for word, _ in answers]
