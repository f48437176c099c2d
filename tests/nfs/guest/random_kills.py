"""Three clients at work whose processes are killed at any time and started anew."""

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from queuelog_core.stores import Store
from tests.nfs.guest.forked import Forked
from tests.nfs.guest.ledger import Entry, problems
from tests.nfs.guest.rounds import Rounds
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.volume import CLIENTS, store_at, store_on_the_server

_LOGS = Path("/run/random-kills")


class Logged(Rounds):
    """Writes down what was acknowledged before it goes on."""

    def __init__(self, store: Store, name: str) -> None:
        super().__init__(store, name)
        self._log = os.open(_LOGS / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def acknowledged(self, entry: Entry) -> None:
        os.write(self._log, f"{json.dumps(entry)}\n".encode())


def random_kills(seed: int, seconds: float) -> object:
    chance = random.Random(seed)
    name = f"random-kills-{seed}.db"
    stores = [store_at(client, name) for client in CLIENTS]
    _LOGS.mkdir()
    lives = [start(store, f"{number}-0") for number, store in enumerate(stores)]
    kills = 0
    failures: list[str] = []
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        time.sleep(chance.uniform(0.2, 1.2))
        kills += 1
        number = chance.randrange(len(lives))
        failures.append(lives[number].kill())
        lives[number] = start(stores[number], f"{number}-{kills}")
    failures += [life.kill() for life in lives]
    entries = list(acknowledged())
    found = [told for told in failures if told] + problems(store_on_the_server(name), entries)
    return {"kills": kills, "acknowledged": len(entries), "problems": [*found, *afterwards(stores)]}


def acknowledged() -> Iterator[Entry]:
    """All that any life wrote down."""
    for log in _LOGS.iterdir():
        yield from map(json.loads, log.read_text("utf-8").splitlines())


def afterwards(stores: Sequence[Store]) -> Iterator[str]:
    """Each client goes on by itself; what does not work is told."""
    for number, store in enumerate(stores):
        rounds = Rounds(store, f"{number}-afterwards")
        rounds.enqueue()
        if not rounds.claim_and_complete():
            yield f"client {number} found no job"


def start(store: Store, name: str) -> Forked:
    return Forked(partial(work, store, name))


def work(store: Store, name: str) -> None:
    rounds = Logged(store, name)
    while True:
        rounds.enqueue()
        rounds.claim_and_complete()


if __name__ == "__main__":
    answer(random_kills)
