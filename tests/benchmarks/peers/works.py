"""The works that a queue is measured by. Each returns figures for one line of JSON."""

import multiprocessing
import pkgutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, TypeVar

from tests.benchmarks.peers.peer import FULL, Peer

WORKERS = 4
CLAIMS = 30
GIVE_UP_SECONDS = 120
PAUSE_SECONDS = 0.001
ADAPTERS = {
    "bare": "bare:Bare",
    "queuelog": "queuelog:Queuelog",
    "queuelog-store": "queuelog:QueuelogStore",
    "litequeue": "litequeue:Litequeue",
    "persist-queue": "persist_queue:PersistQueue",
    "tinyjobs": "tinyjobs:Tinyjobs",
    "tinyjobs-blocking": "tinyjobs:TinyjobsBlocking",
    "spoolctl": "spoolctl:Spoolctl",
    "firm-queue": "firm:Firm",
    "gigq": "gigq:Gigq",
    "localqueue": "localqueue:Localqueue",
}
Figures = dict[str, Any]
_T = TypeVar("_T")
_barrier: Barrier


@dataclass(frozen=True, slots=True)
class Shift:
    """What one of several workers did: its jobs in order, and when, by the clock of the host."""

    job_ids: list[Hashable]
    started: float
    ended: float
    refused: int


def adapter(name: str) -> type[Peer]:
    """The adapter of a peer; only its own library is imported."""
    found: type[Peer] = pkgutil.resolve_name(f"{__package__}.{ADAPTERS[name]}")
    return found


def open_peer(name: str, folder: Path) -> Peer:
    """Open a queue, and make sure that its commits are on disk when they return."""
    peer = adapter(name)(folder)
    if peer.synchronous() != {FULL}:
        raise RuntimeError(f"{name} does not run at synchronous FULL: {peer.synchronous()}")
    return peer


def tally(job_ids: Iterable[Hashable], rows: int) -> Figures:
    """How many of `rows` jobs nobody did, and how often one was done again."""
    done = Counter(job_ids)
    return {"lost": rows - len(done), "doubled": done.total() - len(done)}


def enqueue(name: str, folder: Path, rows: int) -> Figures:
    """Enqueue small jobs, one by one."""
    peer = open_peer(name, folder)
    started = time.perf_counter()
    for _ in range(rows):
        peer.enqueue()
    elapsed = time.perf_counter() - started
    peer.close()
    return {"per_second": rows / elapsed}


def pairs(name: str, folder: Path, rows: int) -> Figures:
    """Claim and complete the jobs that `enqueue` left."""
    peer = open_peer(name, folder)
    job_ids = []
    started = time.perf_counter()
    while (claimed := peer.claim()) is not None:
        peer.complete(claimed)
        job_ids.append(peer.job_id(claimed))
    elapsed = time.perf_counter() - started
    peer.close()
    return {"per_second": rows / elapsed} | tally(job_ids, rows)


def together(name: str, folder: Path, rows: int) -> Figures:
    """Claim and complete the same jobs in several processes at once."""
    adapter(name).fill(folder, rows, "pending")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(WORKERS)
    with ProcessPoolExecutor(WORKERS, context, _meet, (barrier,)) as pool:
        shifts = list(pool.map(_shift, [name] * WORKERS, [folder] * WORKERS))
    elapsed = max(s.ended for s in shifts) - min(s.started for s in shifts)
    done = [len(s.job_ids) for s in shifts]
    return {
        "per_second": sum(done) / elapsed,
        "least_share": min(done) / max(done),
        "refused": sum(s.refused for s in shifts),
    } | tally((job_id for s in shifts for job_id in s.job_ids), rows)


def claim_cost(name: str, folder: Path) -> Figures:
    """CPU time of a claim, commit included, with the backlog that lies in the folder."""
    peer = open_peer(name, folder)
    for _ in range(CLAIMS):
        # As many due jobs come as go: every round finds the same backlog.
        peer.enqueue()
    spent = []
    for _ in range(CLAIMS):
        started = time.process_time()
        claimed = peer.claim()
        spent.append((time.process_time() - started) * 1e6)
        if claimed is None:
            raise RuntimeError(f"{name} found no job")
        peer.complete(claimed)
    peer.close()
    return {"microseconds": statistics.median(spent)}


def _meet(barrier: Barrier) -> None:
    global _barrier  # noqa: PLW0603 - a pool hands it to its processes once, when they start
    _barrier = barrier


def _shift(name: str, folder: Path) -> Shift:
    peer = open_peer(name, folder)
    job_ids: list[Hashable] = []
    refused = 0

    def insist(call: Callable[[], _T]) -> _T:
        """Ask again when the file was locked too long, as any worker would have to."""
        nonlocal refused
        while True:
            try:
                return call()
            except Exception as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    raise
                refused += 1

    _barrier.wait()
    started = ended = time.monotonic()
    while time.monotonic() < started + GIVE_UP_SECONDS:
        claimed = insist(peer.claim)
        if claimed is not None:
            insist(partial(peer.complete, claimed))
            job_ids.append(peer.job_id(claimed))
            ended = time.monotonic()
        elif peer.counts()[0] == 0:
            break
        else:
            time.sleep(PAUSE_SECONDS)
    peer.close()
    return Shift(job_ids, started, ended, refused)
