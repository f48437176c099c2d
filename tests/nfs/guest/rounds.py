"""A client of the volume that does its rounds: enqueue, claim, complete."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from queuelog_core.stores import Store
from tests.nfs.guest import ledger
from tests.nfs.guest.ledger import Entry
from tests.nfs.guest.operations import OTHER, claim, enqueue
from tests.nfs.guest.volume import when_free
from tests.support.stores import complete

_PATIENCE_SECONDS = 120.0
_T = TypeVar("_T")


class Rounds:
    """What one client was told, and how often that the file is busy."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._number = 0
        self.entries: list[Entry] = []
        self.busy = 0

    def enqueue(self) -> None:
        self._number += 1
        job = self._patiently(partial(enqueue, self._store, f"{self._name}-{self._number}"))
        self.acknowledged(ledger.enqueued(job))

    def claim_and_complete(self) -> bool:
        """Whether there was a job."""
        job = self._patiently(partial(claim, self._store, OTHER))
        if job is None:
            return False
        self.acknowledged(ledger.claimed(job))
        done = self._patiently(partial(complete, self._store, job))
        self.acknowledged(ledger.completed(done))
        return True

    def acknowledged(self, entry: Entry) -> None:
        self.entries.append(entry)

    def _patiently(self, call: Callable[[], _T]) -> _T:
        told, busy = when_free(call, _PATIENCE_SECONDS)
        self.busy += busy
        return told
