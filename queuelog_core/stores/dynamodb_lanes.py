"""Which lanes there are: the types that ever had a job, and into how many shards they are cut.

Both stand in one item of the table, because an index cannot tell its partitions. A number of shards
may grow: writers use theirs, readers the most that anybody ever used.
"""

import threading
from collections.abc import Callable, Sequence

from queuelog_core.clock import monotonic_seconds
from queuelog_core.stores.dynamodb_client import Item, number_in
from queuelog_core.stores.dynamodb_table import Key, Table

KEY: Key = ("T", "T")
TYPES, SHARDS = "ty", "sh"
READ_AGAIN_SECONDS = 60.0


class Lanes:
    """Safe for many threads. Raises what Table raises."""

    def __init__(
        self, table: Table, shards: int, monotonic: Callable[[], float] = monotonic_seconds
    ) -> None:
        self.shards = shards
        self._table = table
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._announced: frozenset[str] = frozenset()
        # All look at one.
        self._shards_told = shards == 1
        self._most = shards
        self._read_again_at = float("-inf")

    def announce(self, job_type: str) -> None:
        """Let everybody know that there are jobs of this type, before there is one."""
        if job_type in self._announced:
            return
        self.announce_shards()
        item = self._read()
        if job_type not in _types(item):
            self._table.add(KEY, {TYPES: frozenset({job_type})})
        with self._lock:
            self._announced |= {job_type}

    def announce_shards(self) -> None:
        """Let everybody know how far to look, before a job lies there: also one that was moved."""
        if not self._shards_told:
            self._table.raise_to(KEY, SHARDS, self.shards)
            self._shards_told = True

    def types(self) -> Sequence[str]:
        """Every type that ever had a job, also one that has left the registry."""
        return sorted(_types(self._read()))

    def most_shards(self) -> int:
        """How many shards a reader looks at."""
        if self._monotonic() >= self._read_again_at:
            self._read()
        return self._most

    def _read(self) -> Item:
        item = self._table.get(KEY) or {}
        with self._lock:
            self._most = max(self.shards, number_in(item, SHARDS))
            self._read_again_at = self._monotonic() + READ_AGAIN_SECONDS
        return item


def _types(item: Item) -> frozenset[str]:
    types = item.get(TYPES, frozenset())
    assert isinstance(types, frozenset)
    return types
