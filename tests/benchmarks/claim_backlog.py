"""What a claim costs behind a backlog: VM steps, CPU time and memory, at 1,000 and 1,000,000 rows.

Run with `make bench`. Steps do not depend on the machine; times do, so they are only printed.
"""

import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from queuelog_core.job import Priority
from queuelog_core.stores import Filter
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import BACKLOGS, TYPES_CLAIMED, fill, steps
from tests.support.factories import pending_job
from tests.support.stores import claim

FEW, MANY = 1_000, 1_000_000
ROUNDS = 50


def measure(path: Path, rows: int, backlog: dict[str, Any]) -> tuple[int, float]:
    """VM steps of one claim and the median CPU microseconds of further ones."""
    store = SqliteStore(path)
    fill(path, rows, **backlog)
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
    return count, statistics.median(spent)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        heads = ("steps at 1e3", "at 1e6", "CPU us at 1e3", "at 1e6")
        print(f"{'backlog':<18} {heads[0]:>13} {heads[1]:>8} {heads[2]:>14} {heads[3]:>8}")
        for number, (name, backlog) in enumerate(BACKLOGS.items()):
            few = measure(Path(folder) / f"{number}-few.db", FEW, backlog)
            before = peak_mib()
            many = measure(Path(folder) / f"{number}-many.db", MANY, backlog)
            grown = peak_mib() - before
            print(f"{name:<18} {few[0]:>13} {many[0]:>8} {few[1]:>14.0f} {many[1]:>8.0f}", end="")
            print(f"   memory grew by {grown:.1f} MiB")
            for file in Path(folder).iterdir():
                file.unlink()


if __name__ == "__main__":
    main()
