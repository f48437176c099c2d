"""Processes of a client stand still, one before each file syscall of an operation and each on its
own file, while the client is cut off for longer than the server's lease. Another one works on all
those files; then the network is back and the processes go on, with locks that they no longer have.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores import Store
from tests.nfs.guest import ledger
from tests.nfs.guest.forked import Forked
from tests.nfs.guest.kill_points import EVERYTHING, spread
from tests.nfs.guest.ledger import Entry, problems
from tests.nfs.guest.links import cut
from tests.nfs.guest.operations import OTHER, VICTIM, Operation, enqueue
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.stopped import Stopped
from tests.nfs.guest.volume import FIRST, SECOND, SERVER, store_at, store_on_the_server, when_free

SECONDS_MAX = 900.0
TRIES_MAX = 3
AT_ONCE = 8
"""More processes that go on together would keep each other from it for longer than the guard lets.
"""


class Scene:
    """Copies of one file, and an operation that is due in each."""

    def __init__(self, verb: str, seed: int) -> None:
        self._stem = f"cut-{verb}-{seed}"
        store = store_on_the_server(self.name("template"))
        # The first one of a file makes pages that later ones find.
        Operation(verb, store, "earlier").perform(store, OTHER)
        self.operation = Operation(verb, store, "key")
        store.close()

    def name(self, which: object) -> str:
        return f"{self._stem}-{which}.db"

    def victim(self, which: object) -> Stopped:
        """A process on a copy of its own, about to begin."""
        shutil.copy(SERVER / self.name("template"), SERVER / self.name(which))

        def prepare() -> Callable[[], object]:
            store = store_at(FIRST, self.name(which))
            store.get(1)
            return partial(self._stubbornly, store)

        return Stopped(prepare)

    def _stubbornly(self, store: Store) -> object:
        """What it was refused with, and what it got: whoever is told 503 asks again."""
        refused: list[str] = []
        while len(refused) < TRIES_MAX:
            try:
                return {"refused": refused, "entry": self.operation.perform(store, VICTIM)}
            except StoreUnavailable as error:
                refused.append(error.reason.partition(": ")[2])
        raise AssertionError(refused)

    def work_meanwhile(self, numbers: Sequence[int]) -> object:
        """What the other client gets done in these files."""
        entries: dict[int, list[Entry]] = {}
        for number in numbers:
            store, _ = when_free(partial(store_at, SECOND, self.name(number)), SECONDS_MAX)
            mine, _ = when_free(partial(self.operation.perform, store, OTHER), SECONDS_MAX)
            job, _ = when_free(partial(enqueue, store, "meanwhile"), SECONDS_MAX)
            entries[number] = [mine, ledger.enqueued(job)]
        return entries

    def verdict(self, number: int, entries: Sequence[Entry]) -> list[str]:
        told = [*self.operation.entries, *entries]
        found = problems(store_on_the_server(self.name(number)), told)
        return [f"stopped before {number}: {text}" for text in found]


def long_cut(verb: str, points: int, seed: int, lease_seconds: float) -> object:
    scene = Scene(verb, seed)
    calls = count_calls(scene)
    chosen = spread(points, calls, random.Random(seed))
    victims = {number: scene.victim(number) for number in chosen}
    for number, victim in victims.items():
        victim.wait_until_prepared()
        victim.run_before(number)
    with cut(FIRST):
        began_at = time.monotonic()
        halves = [
            Forked(partial(scene.work_meanwhile, half)) for half in (chosen[::2], chosen[1::2])
        ]
        worked = [half.answer(SECONDS_MAX) for half in halves]
        time.sleep(max(0.0, lease_seconds + 1 - (time.monotonic() - began_at)))
        seconds = time.monotonic() - began_at
    told: dict[int, Any] = {}
    for begin in range(0, len(chosen), AT_ONCE):
        part = {number: victims[number] for number in chosen[begin : begin + AT_ONCE]}
        for victim in part.values():
            victim.go_on()
        told |= {number: victim.answer(SECONDS_MAX) for number, victim in part.items()}
    entries = {int(number): got for part in worked for number, got in part.items()}
    return {
        "syscalls": calls,
        "points": chosen,
        "cut_seconds": seconds,
        "refused": Counter(each["refused"][0] for each in told.values() if each["refused"]),
        "problems": [
            text
            for number, each in told.items()
            for text in scene.verdict(number, [*entries[number], each["entry"]])
        ],
    }


def count_calls(scene: Scene) -> int:
    """How many file syscalls the operation makes, its answer to the parent included."""
    unhurt = scene.victim("unhurt")
    unhurt.wait_until_prepared()
    calls = len(unhurt.run_before(EVERYTHING)) + 1
    unhurt.go_on()
    unhurt.answer(SECONDS_MAX)
    return calls


if __name__ == "__main__":
    answer(long_cut)
