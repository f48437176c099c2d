"""What a claim costs behind a backlog: VM steps, CPU time, and the bytes of a job.

Steps do not depend on the machine; times do.
"""

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queuelog_core.job import Priority
from queuelog_core.stores import Filter
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import BACKLOGS, TYPES_CLAIMED, fill, steps
from tests.support.factories import pending_job
from tests.support.stores import claim

FEW, MANY = 1_000, 1_000_000
ROUNDS = 200
DUE = BACKLOGS["all due"]
FIFTY_TYPES = BACKLOGS["twenty types"] | {"types": 50}
CASES: list[tuple[str, int, dict[str, Any]]] = [
    *((f"{rows:,} due", rows, DUE) for rows in (FEW, 10_000, 100_000, MANY, 5_000_000)),
    (f"{MANY:,} delayed in front", MANY, BACKLOGS["delayed in front"]),
    (f"{MANY:,} of a type nobody claims", MANY, BACKLOGS["a rare type"]),
    (f"{MANY:,} of 50 types", MANY, FIFTY_TYPES),
    (f"{MANY:,} live leases", MANY, BACKLOGS["live leases"]),
    (f"{MANY:,} completed and kept", MANY, BACKLOGS["completed kept"]),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A claim behind `rows` jobs. `microseconds` of CPU, the median; `bytes_a_job` on disk."""

    name: str
    rows: int
    steps: int
    microseconds: float
    bytes_a_job: float


def measure(folder: Path) -> list[Cost]:
    """One row a backlog, each in a file of its own."""
    costs = []
    for name, rows, backlog in CASES:
        costs.append(_measure(folder / "queuelog.db", name, rows, backlog))
        print(
            f"{name:<36} {costs[-1].steps:>6} steps {costs[-1].microseconds:>6.0f} us CPU",
            flush=True,
        )
        for file in folder.iterdir():
            file.unlink()
    return costs


def _measure(path: Path, name: str, rows: int, backlog: dict[str, Any]) -> Cost:
    store = SqliteStore(path)
    fill(path, rows, **backlog)
    # What is still to be written would make the first commits dearer.
    os.sync()
    size = path.stat().st_size
    extra = [pending_job(type=name, priority=Priority.LOW) for name in TYPES_CLAIMED]
    store.insert_many(extra * ROUNDS)
    count = steps(store, lambda: claim(store, types=TYPES_CLAIMED))
    spent = []
    for _ in range(ROUNDS):
        started = time.process_time()
        claim(store, types=TYPES_CLAIMED)
        spent.append((time.process_time() - started) * 1e6)
    store.stats(0, None)
    store.list(Filter(), 200, None)
    store.close()
    return Cost(
        name=name,
        rows=rows,
        steps=count,
        microseconds=statistics.median(spent),
        bytes_a_job=size / rows,
    )
