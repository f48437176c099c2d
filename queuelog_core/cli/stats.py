"""`queuelog stats`: the numbers of the queue."""

import contextlib
from collections.abc import Sequence
from typing import Any

import click

from queuelog_core.cli.screen import Row, json_line, looks, print_table
from queuelog_core.cli.shared import Duration, calling, json_option, only_with


@click.command()
@click.option("--watch", is_flag=True, help="Again and again, until Ctrl-C.")
@click.option("--interval", type=Duration(), default="2s", show_default=True, help="With --watch.")
@click.option("--rounds", type=click.IntRange(1), help="With --watch: end after so many.")
@json_option("Print what the API answers, a line each time.")
def stats(watch: bool, interval: int, rounds: int | None, as_json: bool) -> None:
    """Show the numbers of the queue.

    How many jobs there are by type and status, and how long the oldest due one waits.

    \b
    Examples:
      queuelog stats
      queuelog stats --watch --interval 1s --rounds 2
    """
    only_with("--watch", watch, "interval", "rounds")
    with calling() as client, contextlib.suppress(KeyboardInterrupt):
        for _ in looks(interval, rounds if watch else 1):
            numbers = client.stats()
            if as_json:
                click.echo(json_line(numbers))
                continue
            print_table(counts_by_type(numbers))
            click.echo()
            for line in told(numbers):
                click.echo(line)


def counts_by_type(numbers: Any) -> list[Row]:
    """A row for each type with its number of jobs in each status."""
    return [{"type": name, **counts} for name, counts in numbers["types"].items()]


def told(numbers: Any) -> Sequence[str]:
    """The other numbers in words."""
    ages = {name: age for name, age in numbers["oldest_due_age_seconds"].items() if age is not None}
    waits = ", ".join(f"{name} {age:.0f} s" for name, age in ages.items())
    counted = {name: numbers[name] for name in ("due", "delayed", "expired_leases")}
    return [
        *(f"{name}: {_shown(count)}" for name, count in counted.items()),
        f"oldest due: {waits or '-'}",
        f"late reports: {numbers['late_reports']}",
    ]


def _shown(count: Any) -> str:
    return f"{count['count']}{' or more' if count['capped'] else ''}"
