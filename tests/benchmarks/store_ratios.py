"""The store against its own SQL with ready parameters and nothing above it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.measuring import Ratio, Script, bare, compare, rate, record, replay
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim, claim_one, complete

JOBS = 1_000
BATCH_ENQUEUED, BATCH_CLAIMED = 100, 10
Work = Callable[[SqliteStore], object]


def enqueue_singly(store: SqliteStore) -> None:
    for job in [pending_job() for _ in range(JOBS)]:
        store.insert(job)


def enqueue_in_batches(store: SqliteStore) -> None:
    for _ in range(JOBS // BATCH_ENQUEUED):
        store.insert_many([pending_job() for _ in range(BATCH_ENQUEUED)])


def claim_and_complete(store: SqliteStore) -> None:
    for _ in range(JOBS):
        complete(store, claim_one(store))


def claim_singly(store: SqliteStore) -> None:
    for _ in range(JOBS):
        claim_one(store)


def claim_in_batches(store: SqliteStore) -> None:
    for _ in range(JOBS // BATCH_CLAIMED):
        assert len(claim(store, NOON, limit=BATCH_CLAIMED)) == BATCH_CLAIMED


class Bench:
    """Each run works on a copy of its own of one of two files: empty, or with JOBS due jobs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run = folder / "run.db"
        self.empty, self.full = folder / "empty.db", folder / "full.db"
        for path in (self.empty, self.full):
            store = SqliteStore(path)
            if path is self.full:
                store.insert_many([pending_job() for _ in range(JOBS)])
            store.close()

    def record(self, start: Path, work: Work) -> Script:
        return record(self._copy(start), work)

    def ours(self, start: Path, work: Work) -> Callable[[], float]:
        def run() -> float:
            store = SqliteStore(self._copy(start))
            found = rate(lambda: work(store), JOBS)
            store.close()
            return found

        return run

    def bare(self, start: Path, script: Script) -> Callable[[], float]:
        def run() -> float:
            connection = bare(self._copy(start))
            found = rate(lambda: replay(connection, script), JOBS)
            connection.close()
            return found

        return run

    def _copy(self, start: Path) -> Path:
        for path in self._folder.glob("run.db*"):
            path.unlink()
        shutil.copy(start, self._run)
        return self._run


def measure(folder: Path) -> list[Ratio]:
    """Every ratio of the store in one process."""
    bench = Bench(folder)
    one_row = bench.bare(bench.empty, bench.record(bench.empty, enqueue_singly))
    pairs = bench.bare(bench.full, bench.record(bench.full, claim_and_complete))
    enqueue = bench.ours(bench.empty, enqueue_singly)
    claim_complete = bench.ours(bench.full, claim_and_complete)
    unit = "jobs/s"
    return [
        compare("enqueue / one-row commit, bare", enqueue, one_row, at_least=0.60, unit=unit),
        compare(
            "claim + complete / one-row commit, bare",
            claim_complete,
            one_row,
            at_least=0.30,
            unit=unit,
        ),
        compare("claim + complete / the same SQL, bare", claim_complete, pairs, unit=unit),
        compare(
            "batch of 100 enqueued / single",
            bench.ours(bench.empty, enqueue_in_batches),
            enqueue,
            at_least=8,
            unit=unit,
        ),
        compare(
            "batch of 10 claimed / single",
            bench.ours(bench.full, claim_in_batches),
            bench.ours(bench.full, claim_singly),
            at_least=4,
            unit=unit,
        ),
    ]
