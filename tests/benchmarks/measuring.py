"""Two ways of doing the same work, measured in turn: what counts is the ratio of each pair."""

import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.volume import LOCAL
from tests.support.http import ROOT

PAIRS = 9
BENCH_FOLDER = ROOT / ".bench"
Script = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The median of pairs measured in turn, with the least and the greatest of them.

    `at_least` tells which way the goal points, if there is one. `ours` and `theirs` are medians, in
    `unit`."""

    name: str
    goal: float | None
    at_least: bool
    value: float
    low: float
    high: float
    ours: float
    theirs: float
    unit: str

    @property
    def is_met(self) -> bool:
        if self.goal is None:
            return True
        return self.value >= self.goal if self.at_least else self.value <= self.goal


def compare(
    name: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    unit: str,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Ratio:
    """How many times the other's figure is ours, and one of two goals, or none."""
    ours(), theirs()
    pairs = []
    for turn in range(PAIRS):
        # Whoever is first meets a colder disk, so the order changes.
        if turn % 2:
            second = theirs()
            pairs.append((ours(), second))
        else:
            first = ours()
            pairs.append((first, theirs()))
    return ratio(name, pairs, unit=unit, at_least=at_least, at_most=at_most)


def ratio(
    name: str,
    pairs: Sequence[tuple[float, float]],
    *,
    unit: str,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Ratio:
    """How many times the other's figure is ours, from pairs that were measured in turn."""
    ratios = [mine / other for mine, other in pairs]
    found = Ratio(
        name=name,
        goal=at_most if at_least is None else at_least,
        at_least=at_most is None,
        value=statistics.median(ratios),
        low=min(ratios),
        high=max(ratios),
        ours=statistics.median(mine for mine, _ in pairs),
        theirs=statistics.median(other for _, other in pairs),
        unit=unit,
    )
    print(f"{name:<64} {found.value:6.2f} ({found.low:.2f} to {found.high:.2f})", flush=True)
    return found


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk of the repository, gone afterwards: /tmp may be memory."""
    BENCH_FOLDER.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=BENCH_FOLDER))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def memory_mib(pid: int | str = "self") -> float:
    """What a process holds in memory now, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError


def rate(work: Callable[[], object], operations: int) -> float:
    """Operations a second of `work`, which does that many."""
    started = time.perf_counter()
    work()
    return operations / (time.perf_counter() - started)


class Recording(sqlite3.Connection):
    """A connection that notes what is asked of it, for a replay with nothing above it."""

    script: Script

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        self.script.append((sql, parameters))
        return super().execute(sql, parameters)


def record(path: Path, work: Callable[[SqliteStore], object]) -> Script:
    """The statements, with their parameters, by which a store does this work on a file."""
    script: Script = []

    class Noting(Recording):
        pass

    Noting.script = script
    connect = sqlite3.connect
    with mock.patch("sqlite3.connect", lambda *a, **k: connect(*a, **k, factory=Noting)):
        store = SqliteStore(path)
        script.clear()
        work(store)
        store.close()
    return script


def bare(path: Path) -> sqlite3.Connection:
    """A connection as the store sets its own up."""
    connection = sqlite3.connect(path, isolation_level=None)
    cache = f"cache_size={LOCAL.cache_size}"
    for pragma in (cache, "temp_store=MEMORY", "mmap_size=0", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")
    assert connection.execute("PRAGMA journal_mode").fetchone() == (LOCAL.journal_mode,)
    return connection


def replay(connection: sqlite3.Connection, script: Script) -> None:
    for sql, parameters in script:
        connection.execute(sql, parameters).fetchall()
