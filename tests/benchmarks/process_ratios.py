"""Four processes on one file against one: throughput, shares, waits, and that none runs twice."""

import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from queuelog_core.stores import open_store
from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.measuring import Ratio, compare
from tests.support.factories import pending_job
from tests.support.processes import run_all, until_free
from tests.support.stores import claim, complete

JOBS = 2_000
PROCESSES = 4


@dataclass(frozen=True, slots=True)
class Worked:
    """What one process did: the jobs it got, when it began and ended, and its longest wait."""

    jobs: list[int]
    started: float
    ended: float
    longest_wait: float


@dataclass(slots=True)
class Crowd:
    """What was seen over all runs of several processes. Waits in seconds."""

    least_share: float = 1.0
    longest_wait: float = 0.0
    doubled: int = 0
    lost: int = 0


def work(url: str) -> Worked:
    store = until_free(lambda: open_store(url))
    jobs: list[int] = []
    longest = 0.0
    started = asked = time.perf_counter()
    while claimed := until_free(lambda: claim(store)):
        until_free(partial(complete, store, claimed[0]))
        jobs.append(claimed[0].id)
        now = time.perf_counter()
        longest, asked = max(longest, now - asked), now
    return Worked(jobs, started, asked, longest)


def run(folder: Path, processes: int, crowd: Crowd) -> float:
    """Jobs a second, claimed and completed."""
    for path in folder.glob("crowd.db*"):
        path.unlink()
    store = SqliteStore(folder / "crowd.db")
    store.insert_many([pending_job() for _ in range(JOBS)])
    store.close()
    done: list[Worked] = run_all(work, f"sqlite:///{folder}/crowd.db", processes=processes)
    counts = Counter(job for part in done for job in part.jobs)
    crowd.doubled += sum(count - 1 for count in counts.values())
    crowd.lost += JOBS - len(counts)
    if processes > 1:
        shares = [len(part.jobs) for part in done]
        crowd.least_share = min(crowd.least_share, min(shares) / max(shares))
        crowd.longest_wait = max(crowd.longest_wait, *(part.longest_wait for part in done))
    return JOBS / (max(part.ended for part in done) - min(part.started for part in done))


def measure(folder: Path) -> tuple[Ratio, Crowd]:
    crowd = Crowd()
    ratio = compare(
        "4 processes / 1 process, claim + complete",
        lambda: run(folder, PROCESSES, crowd),
        lambda: run(folder, 1, crowd),
        at_least=0.85,
        unit="jobs/s",
    )
    return ratio, crowd
