"""`queuelog top`: what the queue does at this moment, drawn again and again."""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import click

from queuelog_core.cli.screen import Row, columns, json_line, live, looks
from queuelog_core.cli.shared import Duration, calling, json_option
from queuelog_core.cli.stats import counts_by_type, told
from queuelog_core.client import Client, Job

SHOWN = 10
_RUNNING = ("id", "type", "priority", "attempt", "worker_id", "claimed_at", "lease_expires_at")
_FAILED = ("id", "type", "attempt", "error_code", "worker_id", "finished_at")


@click.command()
@click.option("--interval", type=Duration(), default="2s", show_default=True)
@click.option("--rounds", type=click.IntRange(1), help="End after so many; else until Ctrl-C.")
@json_option("Print {stats, running, failed}, a line each time.")
def top(interval: int, rounds: int | None, as_json: bool) -> None:
    """Watch the queue at work.

    Jobs by type and status, how many are completed a second, what runs, what failed.

    \b
    Examples:
      queuelog top --rounds 2
      queuelog top --json --rounds 1
    """
    with calling() as client, contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as end:
        draw = None if as_json else end.enter_context(live())
        before: Any = None
        for _ in looks(interval, rounds):
            numbers = client.stats()
            running, failed = (_some(client, status) for status in ("running", "failed"))
            if draw is None:
                jobs = {"running": running, "failed": failed}
                listed = {name: [job._asdict() for job in some] for name, some in jobs.items()}
                click.echo(json_line({"stats": numbers, **listed}))
            else:
                draw(
                    [
                        (" · ".join(told(numbers)), _rates(numbers, before)),
                        ("running, the newest", columns(running, _RUNNING)),
                        ("failed, the newest", columns(failed, _FAILED)),
                    ]
                )
            before = numbers


def _some(client: Client, status: str) -> list[Job]:
    return list(islice(client.jobs(status=status, limit=SHOWN), SHOWN))


def _rates(now: Any, before: Any) -> Sequence[Row]:
    """The counts by type, and how many jobs were completed a second since the look before."""
    if before is None:
        return counts_by_type(now)
    seconds = (_time(now) - _time(before)).total_seconds()
    rates = {
        name: (counts["completed"] - before["types"].get(name, counts)["completed"]) / seconds
        for name, counts in now["types"].items()
        if seconds > 0
    }
    # The retention deletes completed jobs meanwhile, which is no work undone.
    shown = {name: f"{max(0.0, rate):.1f}" for name, rate in rates.items()}
    return [{**row, "done/s": shown.get(row["type"])} for row in counts_by_type(now)]


def _time(numbers: Any) -> datetime:
    return datetime.fromisoformat(numbers["as_of"])
