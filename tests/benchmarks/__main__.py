"""`make bench`: measure everything in one run and write docs/performance.md with its plot."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks import (
    claim_backlog,
    http_ratios,
    process_ratios,
    redaction,
    server_memory,
    start_ratios,
    store_ratios,
    worker_throughput,
)
from tests.benchmarks.claim_backlog import Cost
from tests.benchmarks.machine import machine
from tests.benchmarks.measuring import scratch
from tests.benchmarks.page import PLOT, Results, page
from tests.benchmarks.peers.compare import GOALS, WHOLE, Figures, compare
from tests.support.http import ROOT

DOCS = ROOT / "docs"
BACKLOG = WHOLE.pending


def main() -> None:
    results = measure()
    (DOCS / "performance.md").write_text(page(results, GOALS), "utf-8")
    draw(list(lines(results.claims, results.peers)), DOCS / PLOT)


def measure() -> Results:
    """Every part in a folder of its own, so that none finds another's files."""
    with scratch() as folder:
        named = machine(folder)
        ratios = store_ratios.measure(folder)
    with scratch() as folder:
        crowded, crowd = process_ratios.measure(folder)
    with scratch() as folder:
        ratios += [crowded, http_ratios.in_process(folder), http_ratios.served(folder)]
    with scratch() as folder:
        ratios += start_ratios.measure(folder)
    with scratch() as folder:
        claims = claim_backlog.measure(folder)
    with scratch() as folder:
        memory = server_memory.measure(folder)
    with scratch() as folder:
        workers = worker_throughput.measure(folder)
    return Results(
        machine=named,
        day=datetime.now(UTC).date().isoformat(),
        ratios=ratios,
        crowd=crowd,
        claims=claims,
        memory=memory,
        workers=workers,
        redaction=redaction.measure(),
        peers=compare(WHOLE),
    )


def lines(claims: Sequence[Cost], peers: Sequence[Figures]) -> Iterator[dict[str, Any]]:
    """What the plot shows: our claim as the due jobs grow, and each peer at two sizes."""
    due = [cost for cost in claims if cost.name.endswith(" due")]
    yield _line("queuelog", "o-", [(cost.rows, cost.microseconds) for cost in due])
    kept = [cost for cost in claims if cost not in due]
    yield _line("queuelog, other backlogs", "o", [(cost.rows, cost.microseconds) for cost in kept])
    found = {(figures.peer, figures.work): figures for figures in peers}
    for peer in dict.fromkeys(figures.peer for figures in peers):
        few, many = found[peer, "few"], found[peer, "pending"]
        if few.values and many.values and not peer.startswith("queuelog"):
            yield _line(peer, "x--", [(WHOLE.few, few.value), (BACKLOG, many.value)])


def _line(name: str, style: str, points: Sequence[tuple[int, float]]) -> dict[str, Any]:
    rows, microseconds = zip(*points, strict=True)
    return {"name": name, "style": style, "rows": rows, "microseconds": microseconds}


def draw(told: Sequence[dict[str, Any]], picture: Path) -> None:
    """In the other environment: the drawing library is not one of ours."""
    python = ROOT / ".venv-peers" / "bin" / "python"
    plot = Path(__file__).parent / "plot.py"
    with scratch() as folder:
        figures = folder / "plot.json"
        figures.write_text(json.dumps(told), "utf-8")
        subprocess.run([python, plot, figures, picture], check=True)


if __name__ == "__main__":
    main()
