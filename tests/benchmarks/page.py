"""The page docs/performance.md, made from the figures of one run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.benchmarks.claim_backlog import Cost
from tests.benchmarks.measuring import PAIRS, Ratio
from tests.benchmarks.peers.compare import WORKS, Figures, Goal
from tests.benchmarks.process_ratios import Crowd
from tests.benchmarks.worker_throughput import CALLERS, Idle, Spent, Workers

PLOT = "performance.svg"
RATIO_HEADS = ("what", "ratio", "goal", "ours", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that one run measured. Memory in MiB; hostile text in milliseconds."""

    machine: str
    day: str
    ratios: Sequence[Ratio]
    crowd: Crowd
    claims: Sequence[Cost]
    memory: tuple[float, float]
    workers: Workers
    redaction: tuple[float, float]
    peers: Sequence[Figures]


def page(results: Results, goals: Sequence[Goal]) -> str:
    """The whole page, in Markdown."""
    others = _others(results, goals)
    parts = [_engine(results), _claims(results), workers(results.workers), others]
    return "\n".join([_head(results), *parts, _redaction(results)])


def _head(results: Results) -> str:
    return f"""# Performance

Made by `make bench` on {results.day}; do not edit it by hand.
Machine: {results.machine}.

Every commit is on disk before it is answered (`synchronous=FULL`), here and for the other queues.
Absolute figures drift with the machine, so what counts is a ratio: both sides in turn, the median
of {PAIRS} pairs, with the least and the greatest in brackets. "Bare" replays the very statements of
the store, with ready parameters and nothing above them.
"""


def _engine(results: Results) -> str:
    crowd = results.crowd
    share, wait = crowd.least_share, crowd.longest_wait * 1000
    once = crowd.doubled == crowd.lost == 0
    return f"""## Against the bare engine

{_table(RATIO_HEADS, map(_ratio_row, results.ratios))}

Four processes on one file, over all runs:

- least share of the greatest: {share:.2f} (goal ≥ 0.3{_verdict(share >= 0.3)})
- longest wait: {wait:.0f} ms (goal ≤ 500{_verdict(wait <= 500)})
- done twice {crowd.doubled}, lost {crowd.lost} (goal 0{_verdict(once)})
"""


def _claims(results: Results) -> str:
    first = results.claims[0].microseconds
    empty, full = results.memory
    heads = ("behind", "VM steps", "CPU µs", "× 1,000", "bytes a job")
    return f"""## What a claim costs

![CPU time of a claim as the backlog grows]({PLOT})

A claim asks for four types; its CPU time includes that of the commit. The goal is 1.5 times what it
costs behind 1,000 jobs.

{_table(heads, (_claim_row(cost, first) for cost in results.claims))}

The server holds {empty:.1f} MiB without jobs and {full:.1f} MiB before 1,000,000 of them
(goal: at most 30 more{_verdict(full - empty <= 30)}).
"""


def workers(found: Workers) -> str:
    """What a worker gets out of a server, and what it costs when it works and when it idles."""
    spent = ("threads", "requests a job", "CPU ms a job")
    idle = ("idle before", "requests a minute", "CPU ms a minute")
    return f"""## A worker over HTTP

Jobs that do nothing, from the first claim to the last completion. The worker is a process of its
own. What the server can give is what {CALLERS} raw callers get out of it, who send ready bytes on
connections that stay open: one job a claim, or as many as the worker has threads.

{_table(RATIO_HEADS, map(_ratio_row, found.ratios))}

The worker's own processor time, its start left out:

{_table(spent, map(_spent_row, found.spent))}

{_table(idle, map(_idle_row, found.idle))}
"""


def _others(results: Results, goals: Sequence[Goal]) -> str:
    heads = ("goal", "peer", "at least", "measured", "")
    return f"""## Beside other queues on SQLite

Each in a process of its own, round robin, each at `synchronous=FULL`; "×" says how many times
better queuelog is (above 1: faster, or cheaper), through its queue and not the store alone. What
was lost or done twice is counted by four workers on one file. The delayed jobs are of a higher
priority than the due one: at an equal priority the peers do not have to pass them.

{_peers(results.peers)}

{_table(heads, (_goal_row(goal, results.peers) for goal in goals))}
"""


def _redaction(results: Results) -> str:
    typical, hostile = results.redaction
    return f"""## Scrubbing error texts

A typical text of 300 bytes takes {typical:.3f} ms; the worst of all hostile families of 64 kB
{hostile:.1f} ms (goal < 50{_verdict(hostile < 50)}).
"""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _ratio_row(ratio: Ratio) -> Sequence[str]:
    sign = "≥" if ratio.at_least else "≤"
    goal = "–" if ratio.goal is None else f"{sign} {ratio.goal:.2f}{_verdict(ratio.is_met)}"
    measured = f"{ratio.value:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"
    unit = ratio.unit
    return ratio.name, measured, goal, f"{ratio.ours:,.0f} {unit}", f"{ratio.theirs:,.0f} {unit}"


def _spent_row(spent: Spent) -> Sequence[str]:
    return str(spent.threads), f"{spent.requests:.2f}", f"{spent.milliseconds:.2f}"


def _idle_row(idle: Idle) -> Sequence[str]:
    return idle.name, f"{idle.requests:.0f}", f"{idle.milliseconds:.0f}"


def _claim_row(cost: Cost, first: float) -> Sequence[str]:
    times = cost.microseconds / first
    return (
        cost.name,
        f"{cost.steps:,}",
        f"{cost.microseconds:.0f}",
        f"{times:.2f}{_verdict(times <= 1.5)}",
        f"{cost.bytes_a_job:.0f}",
    )


def _peers(peers: Sequence[Figures]) -> str:
    names = list(dict.fromkeys(figures.peer for figures in peers))
    found = {(figures.peer, figures.work): figures for figures in peers}
    rows = ([name, *(_cell(found[name, work]) for work in WORKS)] for name in names)
    lacks = dict.fromkeys(f"- {f.peer}: {f.lacks}" for f in peers if f.lacks)
    return _table(("queue", *WORKS.values()), rows) + "\n\n" + "\n".join(lacks)


def _cell(figures: Figures) -> str:
    if figures.lacks is not None:
        return "–"
    text = f"{figures.value:,.0f} ({figures.ratio:.2f} ×)"
    faults = [("lost", figures.lost), ("twice", figures.doubled)]
    return text + "".join(f", {count} {name}" for name, count in faults if count)


def _goal_row(goal: Goal, peers: Sequence[Figures]) -> Sequence[str]:
    ratio = next(f.ratio for f in peers if (f.peer, f.work) == (goal.peer, goal.work))
    verdict = "met" if ratio >= goal.least else "**missed**"
    return WORKS[goal.work], goal.peer, f"{goal.least:g} ×", f"{ratio:.2f} ×", verdict


def _verdict(is_met: bool) -> str:
    return "" if is_met else " **missed**"
