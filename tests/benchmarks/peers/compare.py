"""queuelog beside the other queues: one run, round robin, medians of the ratios within a round.

    python -m tests.benchmarks.peers.compare [--quick]

The peers run in .venv-peers (`sh scripts/setup.sh peers`). Files lie in .bench/ while it lasts.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.works import ADAPTERS

ROOT = Path(__file__).parent.parent.parent.parent
OURS = ("bare", "queuelog", "queuelog-store")
SECONDS_MAX = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many rounds, how many jobs for each work, and how many lie in a backlog."""

    rounds: int
    rows: int
    together: int
    few: int
    pending: int
    delayed: int
    completed: int


WHOLE = Size(
    rounds=7,
    rows=400,
    together=300,
    few=1_000,
    pending=100_000,
    delayed=1_000_000,
    completed=1_000_000,
)
QUICK = Size(
    rounds=1, rows=50, together=50, few=1_000, pending=10_000, delayed=10_000, completed=10_000
)
BACKLOGS = {"few": "pending", "pending": "pending", "delayed": "delayed", "completed": "completed"}
WORKS = {
    "enqueue": "enqueue, jobs a second",
    "pairs": "claim and complete, jobs a second",
    "together": "the same by 4 processes, jobs a second",
    "few": "CPU us of a claim, few pending",
    "pending": "CPU us of a claim, many pending",
    "delayed": "CPU us of a claim behind delayed jobs",
    "completed": "CPU us of a claim with completed jobs kept",
}


@dataclass(slots=True)
class Figures:
    """One queue at one work: a figure for each round, beside queuelog's of the same round."""

    peer: str
    work: str
    lacks: str | None = None
    values: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """How many times better queuelog is, round by round."""
    lost: int = 0
    doubled: int = 0
    refused: int = 0
    least_share: float | None = None

    @property
    def value(self) -> float:
        return statistics.median(self.values)

    @property
    def ratio(self) -> float:
        return statistics.median(self.times)

    @property
    def noise(self) -> float:
        """Half the distance between the quartiles of the ratio, as a part of it."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return (high - low) / 2 / self.ratio


@dataclass(frozen=True, slots=True)
class Goal:
    """queuelog must be at least so many times better than a peer at a work."""

    work: str
    peer: str
    least: float


GOALS = (
    Goal("pairs", "tinyjobs", 1.0),
    Goal("pairs", "spoolctl", 1.0),
    Goal("pairs", "firm-queue", 3.0),
    *(Goal("pending", peer, 50.0) for peer in ("litequeue", "gigq", "localqueue")),
    *(Goal("delayed", peer, 50.0) for peer in ("tinyjobs", "spoolctl")),
)


def run(peer: str, work: str, folder: Path, *options: object) -> dict[str, Any]:
    """One measurement in a process of its own. A peer that breaks is named, and the run goes on."""
    python = sys.executable if peer in OURS else ROOT / ".venv-peers" / "bin" / "python"
    words = [python, "-m", "tests.benchmarks.peers.run", peer, work, folder, *options]
    command = [str(word) for word in words]
    try:
        answer = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=SECONDS_MAX
        )
    except subprocess.SubprocessError as error:
        if peer in OURS:
            raise
        return {"lacks": f"{work} broke with {type(error).__name__}"}
    figures: dict[str, Any] = json.loads(answer.stdout)
    return figures


def backlog(folder: Path, peer: str, work: str) -> Path:
    """Where it lies: two ways to use one queue share theirs, as they share a module."""
    return folder / ADAPTERS[peer].partition(":")[0] / work


def fill(folder: Path, size: Size) -> None:
    """Make every backlog of every queue, once; the rounds leave them as they were."""
    for peer in ADAPTERS:
        for work, state in BACKLOGS.items():
            place = backlog(folder, peer, work)
            if not place.exists():
                run(peer, "fill", place, "--rows", getattr(size, work), "--state", state)
    # What is still to be written would slow down the first commits that are measured.
    os.sync()


def measure(peer: str, work: str, folder: Path, size: Size) -> dict[str, Any]:
    """One figure of a round. `pairs` takes the file that `enqueue` left."""
    fresh = folder / f"fresh-{peer}"
    if work in BACKLOGS:
        return run(peer, "claim", backlog(folder, peer, work), "--state", BACKLOGS[work])
    rows = size.together if work == "together" else size.rows
    if work != "pairs":
        shutil.rmtree(fresh, ignore_errors=True)
    return run(peer, work, fresh, "--rows", rows)


def compare(size: Size) -> list[Figures]:
    """Measure every queue at every work, in turn; every other round goes backwards."""
    table = {(work, peer): Figures(peer, work) for work in WORKS for peer in ADAPTERS}
    place = ROOT / ".bench"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        fill(folder, size)
        for number in range(size.rounds):
            print(f"round {number + 1} of {size.rounds}", file=sys.stderr)
            for work in WORKS:
                able = [peer for peer in ADAPTERS if table[work, peer].lacks is None]
                peers = able[:: -1 if number % 2 else 1]
                answers = {peer: measure(peer, work, folder, size) for peer in peers}
                for peer, answer in answers.items():
                    _note(table[work, peer], answer, answers["queuelog"])
    return list(table.values())


def _note(figures: Figures, answer: dict[str, Any], ours: dict[str, Any]) -> None:
    if "lacks" in answer:
        figures.lacks = answer["lacks"]
        return
    if "microseconds" in answer:
        figures.values.append(answer["microseconds"])
        figures.times.append(answer["microseconds"] / ours["microseconds"])
    else:
        figures.values.append(answer["per_second"])
        figures.times.append(ours["per_second"] / answer["per_second"])
    figures.lost += answer.get("lost", 0)
    figures.doubled += answer.get("doubled", 0)
    figures.refused += answer.get("refused", 0)
    if "least_share" in answer:
        shares = (figures.least_share, answer["least_share"])
        figures.least_share = min(share for share in shares if share is not None)


def show(table: Sequence[Figures]) -> None:
    """Print the figures, the ratios with their noise, and the goals."""
    for work, title in WORKS.items():
        print(f"\n{title:<44}{'median':>10}{'queuelog is':>14}{'noise':>8}")
        for line in (figures for figures in table if figures.work == work):
            if line.lacks is not None:
                print(f"  {line.peer:<42}{'–':>10}  {line.lacks}")
                continue
            print(f"  {line.peer:<42}{line.value:>10,.0f}{line.ratio:>12.2f} x", end="")
            print(f"{line.noise:>7.0%}", end="")
            if line.least_share is not None:
                print(
                    f"  lost {line.lost}, doubled {line.doubled}, refused {line.refused},", end=""
                )
                print(f" least share {line.least_share:.2f}", end="")
            print()
    print("\ngoals: how many times better than the peer")
    found = {(figures.work, figures.peer): figures for figures in table}
    for goal in GOALS:
        ratio = found[goal.work, goal.peer].ratio
        verdict = "met" if ratio >= goal.least else "MISSED"
        print(f"  {WORKS[goal.work]:<46}{goal.peer:<14}{ratio:>8.2f} of {goal.least:g}  {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small round, to try it")
    show(compare(QUICK if parser.parse_args().quick else WHOLE))


if __name__ == "__main__":
    main()
