"""A client loses its network while it holds the lock; the others wait for the end of its lease."""

import time
from collections.abc import Callable

from tests.nfs.guest import ledger
from tests.nfs.guest.ledger import problems
from tests.nfs.guest.links import cut
from tests.nfs.guest.operations import VICTIM, Operation, enqueue
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.stopped import Stopped
from tests.nfs.guest.volume import FIRST, SECOND, THIRD, store_at, store_on_the_server, when_free

SECONDS_MAX = 120.0


def vanishing(seed: int) -> object:
    name = f"vanishing-{seed}.db"
    first, second, third = (store_at(client, name) for client in (FIRST, SECOND, THIRD))
    operation = Operation("claim", first, "before")

    def prepare() -> Callable[[], object]:
        third.get(1)
        return lambda: operation.perform(third, VICTIM)

    victim = Stopped(prepare)
    victim.wait_until_prepared()
    # Its first write goes into the journal, and by then it has the lock.
    while victim.run_before(1)[-1].name != "pwrite64":
        pass
    with cut(THIRD):
        began_at = time.monotonic()
        job, busy = when_free(lambda: enqueue(first, "meanwhile"), SECONDS_MAX)
        waited = time.monotonic() - began_at
        entries = [*operation.entries, ledger.enqueued(job), operation.perform(second, VICTIM)]
    victim.kill()
    job, _ = when_free(lambda: enqueue(store_at(THIRD, name), "back again"), SECONDS_MAX)
    entries.append(ledger.enqueued(job))
    return {
        "busy": busy,
        "waited_seconds": waited,
        "problems": problems(store_on_the_server(name), entries),
    }


if __name__ == "__main__":
    answer(vanishing)
