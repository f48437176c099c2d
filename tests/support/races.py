"""Processes that race: they live through all rounds, each with a store of its own, and a barrier
releases them at once into each round.

What the rounds are about is laid down before, so that only the barrier lies between two of them.
"""

import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

from queuelog_core.errors import QueuelogError
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.queue import Queue
from queuelog_core.stores import open_store
from tests.support.factories import FakeClock
from tests.support.processes import FRESH, Fresh, until_free
from tests.support.seeds import seed

ROUNDS = int(os.environ.get("QUEUELOG_ROUNDS", "200"))
RACERS = 8
ROUND_SECONDS = 60
JUDGED_FROM_ROUNDS = 40
HEAD_START_SECONDS = 0.0004
"""By how much at most chance lets one be earlier than the others; about what a move takes."""
SLOW_HEAD_START_SECONDS = 0.03
"""The same where a move asks another process."""


class Round(NamedTuple):
    """One race: the job that it is about, or its number, and what everybody's clock says."""

    number: int
    now: int


Opened = Callable[[FakeClock], AbstractContextManager[Any]]
"""Opens what the moves of one racer act on; called in its process, before the first round."""
Move = Callable[[Any, Round], str]
"""What a racer does in each round; returns a word for what it was told."""


class Told(NamedTuple):
    """A move's word, or the code of a refusal; when it asked and when it was answered, in ns of a
    clock that all processes share."""

    word: str
    began_at: int
    ended_at: int


class Racers:
    """So many processes, until `end`."""

    def __init__(self, number: int) -> None:
        self._barriers = {n: FRESH.Barrier(n, timeout=ROUND_SECONDS) for n in range(2, number + 1)}
        self._lines: list[Any] = []
        self._processes: list[Any] = []
        for _ in range(number):
            ours, theirs = FRESH.Pipe()
            process = Fresh(target=_live, args=(theirs, self._barriers), daemon=True)
            process.start()
            theirs.close()
            self._lines.append(ours)
            self._processes.append(process)

    def race(
        self,
        opened: Opened,
        rounds: Sequence[Round],
        seed: int,
        *moves: Move,
        head_start_seconds: float = HEAD_START_SECONDS,
    ) -> list[tuple[Told, ...]]:
        """What they were told, round by round; each process makes one of the moves."""
        lines = self._lines[: len(moves)]
        for number, (line, move) in enumerate(zip(lines, moves, strict=True)):
            chance = random.Random(f"{seed} {number}")
            starts = [chance.uniform(0, head_start_seconds) for _ in rounds]
            line.send((opened, move, list(zip(rounds, starts, strict=True)), len(moves)))
        answers = [line.recv() for line in lines]
        failures = [failure for failure, _ in answers if failure]
        assert not failures, "\n".join(failures)
        return list(zip(*(told for _, told in answers), strict=True))

    def end(self) -> None:
        """Tell them to end, and wait until they have."""
        for line in self._lines:
            line.send(None)
        for process in self._processes:
            process.join()


class Place(NamedTuple):
    """A store that all reach by its address, how many rounds are run on it, and by how much at most
    chance lets one be earlier than the others."""

    url: str
    rounds: int
    crew: Racers
    head_start_seconds: float

    def race(
        self, rounds: Sequence[Round], *moves: Move, head_start_seconds: float = 0.0
    ) -> list[tuple[Told, ...]]:
        opened = partial(queue_at, self.url)
        head_start = max(head_start_seconds, self.head_start_seconds)
        return self.crew.race(opened, rounds, seed(), *moves, head_start_seconds=head_start)

    def assert_seen(self, split: "Counter[tuple[str, ...]]", *allowed: tuple[str, ...]) -> None:
        """No outcome but these, and in enough rounds each of them."""
        assert set(split) <= set(allowed)
        assert self.rounds < JUDGED_FROM_ROUNDS or set(split) == set(allowed)


@contextmanager
def racers(number: int = RACERS) -> Iterator[Racers]:
    """Racers for one race after the other; when the block is left, they have ended."""
    started = Racers(number)
    try:
        yield started
    finally:
        started.end()


@contextmanager
def queue_at(url: str, clock: FakeClock) -> Iterator[Queue]:
    """A queue of one type that may run for half a day, on connections of its own."""
    types = JobTypes({"email": Policy(max_runtime_seconds=43_200)})
    queue = Queue(until_free(partial(open_store, url)), types, clock, random=lambda: 0.0)
    try:
        yield queue
    finally:
        queue.store.close()


def split_of(name: str, rounds: Sequence[Sequence[Told]]) -> "Counter[tuple[str, ...]]":
    """How often they were told what; printed with the number of rounds in which they truly met."""
    split = Counter(tuple(one.word for one in told) for told in rounds)
    met = sum(map(_met, rounds))
    sys.stdout.write(f"{name}: {len(rounds)} rounds, met in {met}: {dict(split)}\n")
    assert met, "they never met"
    return split


def _met(told: Sequence[Told]) -> bool:
    """Whether two of them had asked before the first was answered."""
    first_answer = min(one.ended_at for one in told)
    return sum(one.began_at < first_answer for one in told) > 1


def _live(line: Any, barriers: Any) -> None:
    while (order := line.recv()) is not None:
        opened, move, rounds, size = order
        barrier = barriers[size]
        try:
            clock = FakeClock()
            with opened(clock) as scene:
                told = []
                for each, start in rounds:
                    clock.now = each.now
                    barrier.wait()
                    _spin(start)
                    told.append(_tell(partial(move, scene, each)))
            line.send(("", told))
        except Exception:
            # Whoever waits for this one would wait for nothing.
            barrier.abort()
            line.send((traceback.format_exc(), []))


def _tell(move: Callable[[], str]) -> Told:
    began_at = time.monotonic_ns()
    try:
        word = until_free(move)
    except QueuelogError as refusal:
        word = refusal.code
    return Told(word, began_at, time.monotonic_ns())


def _spin(seconds: float) -> None:
    """A sleep so short would end when the scheduler likes."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
