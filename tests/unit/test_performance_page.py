"""docs/performance.md shows what was measured of a worker, each figure with its unit."""

from tests.benchmarks.measuring import ratio
from tests.benchmarks.page import workers
from tests.benchmarks.worker_throughput import Idle, Spent, Workers

PAIRS = [(300.0, 500.0), (330.0, 500.0), (200.0, 500.0)]
SECTION = workers(
    Workers(
        ratios=[ratio("worker, threads: 1 / raw callers, jobs a claim: 1", PAIRS, unit="jobs/s")],
        spent=[Spent(threads=4, requests=1.574, milliseconds=0.846)],
        idle=[Idle(name="an empty queue", requests=12.0, milliseconds=24.6)],
    )
)


def row(first: str) -> str:
    (line,) = (line for line in SECTION.splitlines() if line.startswith(f"| {first}"))
    return line


def test_the_page_shows_a_workers_rate_beside_the_servers_ceiling() -> None:
    assert row("worker, threads: 1").endswith("| 0.60 (0.40–0.66) | – | 300 jobs/s | 500 jobs/s |")


def test_the_page_shows_what_a_job_costs_its_worker() -> None:
    assert row("threads") == "| threads | requests a job | CPU ms a job |"
    assert row("4") == "| 4 | 1.57 | 0.85 |"


def test_the_page_shows_what_an_idle_worker_costs_a_minute() -> None:
    assert row("idle before") == "| idle before | requests a minute | CPU ms a minute |"
    assert row("an empty queue") == "| an empty queue | 12 | 25 |"
