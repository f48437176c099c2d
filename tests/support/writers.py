"""Processes that write to a store all the time, and how much was acknowledged to them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from queuelog_core.stores import Store, open_store
from tests.support.factories import NOON, pending_job
from tests.support.processes import FRESH, Fresh, until_free
from tests.support.stores import TYPES, claims, complete, fail, settle

WRITERS = 4


@contextmanager
def writers(url: str) -> Iterator[Sequence[Any]]:
    """Until the block is left they enqueue, claim and report. Each has a counter of the jobs that
    were acknowledged to it: those of writer 2 have the keys 2-0, 2-1, and so on."""
    stop = FRESH.Event()
    counters = [FRESH.Value("q") for _ in range(WRITERS)]
    processes = [
        Fresh(target=_write, args=(url, number, counter, stop))
        for number, counter in enumerate(counters)
    ]
    for process in processes:
        process.start()
    try:
        yield counters
    finally:
        stop.set()
        for process in processes:
            process.join()
    assert [process.exitcode for process in processes] == [0] * WRITERS


def _write(url: str, number: int, counter: Any, stop: Any) -> None:
    store = until_free(partial(open_store, url))
    while not stop.is_set():
        for ending in (complete, fail):
            job = pending_job(idempotency_key=f"{number}-{counter.value}")
            until_free(partial(store.insert, job))
            counter.value += 1
            for claimed in until_free(partial(_claim, store)):
                until_free(partial(ending, store, claimed, NOON, "[1]"))


def _claim(store: Store) -> Sequence[Any]:
    return store.claim(NOON, TYPES, 1, settle(NOON), claims(NOON), os.urandom(16))[0]
