"""Three clients enqueue, claim and complete in one file at the same time."""

from functools import partial

from queuelog_core.stores import Store
from tests.nfs.guest.forked import Forked
from tests.nfs.guest.ledger import problems
from tests.nfs.guest.rounds import Rounds
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.volume import CLIENTS, store_at, store_on_the_server

SECONDS_MAX = 900.0


def contention(seed: int, jobs: int) -> object:
    name = f"contention-{seed}.db"
    stores = [store_at(client, name) for client in CLIENTS]
    running = [
        Forked(partial(work, store, f"client-{number}", jobs))
        for number, store in enumerate(stores, 1)
    ]
    answers = [each.answer(SECONDS_MAX) for each in running]
    entries = [entry for told in answers for entry in told["entries"]]
    return {
        "claims": [[verb for verb, *_ in told["entries"]].count("claim") for told in answers],
        "busy": sum(told["busy"] for told in answers),
        "problems": problems(store_on_the_server(name), entries),
    }


def work(store: Store, name: str, jobs: int) -> object:
    """Some rounds, then until nothing is due: whoever ends last leaves nothing."""
    rounds = Rounds(store, name)
    for _ in range(jobs):
        rounds.enqueue()
        rounds.claim_and_complete()
    while rounds.claim_and_complete():
        pass
    return {"entries": rounds.entries, "busy": rounds.busy}


if __name__ == "__main__":
    answer(contention)
