"""A client's process is killed before each of some file syscalls of one operation, while another
client remembers that there is no journal. What the other then sees has to be whole."""

import itertools
import random
from collections.abc import Callable, Sequence

from tests.nfs.guest.ledger import Entry, problems
from tests.nfs.guest.operations import OTHER, VICTIM, Operation
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.stopped import Stopped, Syscall
from tests.nfs.guest.volume import (
    FIRST,
    SECOND,
    has_hot_journal,
    make_folder,
    store_at,
    store_on_the_server,
)

EVERYTHING = 10_000


class Scene:
    """A file, a client whose processes die, and a second one that looks at it all the time."""

    def __init__(self, name: str, verb: str) -> None:
        self.name = name
        self._verb = verb
        self._number = 0
        self._second = store_at(SECOND, name)
        self._first = store_at(FIRST, name)
        self._entries: list[Entry] = []
        self.found: list[str] = []
        self.hot_journals = 0

    def syscalls(self) -> Sequence[Syscall]:
        """What the operation calls when nobody dies, its answer to the parent the last."""
        operation, victim = self._ready()
        called = victim.run_before(EVERYTHING)
        victim.go_on()
        self._entries += [*operation.entries, victim.answer(60)]
        return called

    def die_before(self, number: int, first_access: str) -> None:
        """Kill a victim before its nth file syscall, then go on as the second client."""
        operation, victim = self._ready()
        # It asked for a journal this moment: now its kernel remembers that there is none.
        self._second.get(1)
        *_, last = victim.run_before(number)
        victim.kill()
        self.hot_journals += has_hot_journal(self.name)
        if first_access == "write":
            self._second.check_writable()
        found = self._second.check()  # type: ignore[attr-defined]
        self.found += [f"killed before {number} ({last.name} {last.target}): {x}" for x in found]
        self._entries += [*operation.entries, operation.perform(self._second, OTHER)]

    def verdict(self) -> list[str]:
        """All that was found, and what the server itself says at the end."""
        return self.found + problems(store_on_the_server(self.name), self._entries)

    def _ready(self) -> tuple[Operation, Stopped]:
        self._number += 1
        operation = Operation(self._verb, self._second, f"{self.name}-{self._number}")

        def prepare() -> Callable[[], object]:
            self._first.get(1)
            return lambda: operation.perform(self._first, VICTIM)

        victim = Stopped(prepare)
        victim.wait_until_prepared()
        return operation, victim


def spread(points: int, count: int, chance: random.Random) -> list[int]:
    """So many numbers from 1 to `count`, one from each stretch of the same length."""
    if points >= count:
        return list(range(1, count + 1))
    bounds = [1 + number * count // points for number in range(points + 1)]
    return [chance.randrange(low, high) for low, high in itertools.pairwise(bounds)]


def kill_points(verb: str, points: int, seed: int) -> object:
    chance = random.Random(seed)
    scene = Scene(f"{make_folder(f'kill-{verb}-{seed}')}/queue.db", verb)
    scene.syscalls()
    # The second time: the first operation of a file makes pages that later ones find.
    calls = len(scene.syscalls()) + 1
    chosen = spread(points, calls, chance)
    for number in chosen:
        scene.die_before(number, chance.choice(("read", "write")))
    return {
        "syscalls": calls,
        "points": chosen,
        "hot_journals": scene.hot_journals,
        "problems": scene.verdict(),
    }


if __name__ == "__main__":
    answer(kill_points)
