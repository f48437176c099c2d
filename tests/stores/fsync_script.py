"""Run under strace: makes one call of a store a number of times, after the same preparation."""

import os
import sys
from collections.abc import Callable

from queuelog_core.stores import Filter, Store, open_store
from tests.support.factories import pending_job
from tests.support.stores import claim, claim_one, complete, fail, insert


def calls(store: Store) -> dict[str, Callable[[], object]]:
    keyed = pending_job(type="pdf", idempotency_key="k")
    store.insert(keyed)
    for _ in range(40):
        insert(store)
    held = list(claim(store, types=["email"], limit=20))
    done = claim(store, types=["pdf"])[0]
    complete(store, done)
    return {
        "enqueue": lambda: insert(store),
        "enqueue-batch": lambda: store.insert_many([pending_job() for _ in range(100)]),
        "claim": lambda: claim_one(store),
        "complete": lambda: complete(store, held.pop(), result="[1]"),
        "fail": lambda: fail(store, held.pop(), error="text"),
        "replay-enqueue": lambda: store.insert(keyed),
        "replay-complete": lambda: complete(store, done),
        "empty-claim": lambda: claim(store, types=["sync"]),
        "get": lambda: store.get(1),
        "list": lambda: store.list(Filter(), 10, None),
        "stats": lambda: store.stats(0, None),
    }


def main() -> None:
    url, name, rounds = sys.argv[1:]
    call = calls(open_store(url))[name]
    for _ in range(int(rounds)):
        call()
    # Closing would checkpoint the log, whose syncs belong to no call.
    os._exit(0)


if __name__ == "__main__":
    main()
