"""`queuelog stats`: the numbers of the queue."""

import json
import time
from collections.abc import Iterator
from typing import Any

import click

from queuelog_core.cli.shared import calling, table


@click.command()
@click.option("--watch", is_flag=True, help="Every two seconds, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print what the API answers.")
def stats(watch: bool, as_json: bool) -> None:
    """Show how many jobs there are, by type and status, and how long the oldest due one waits.

    \b
    Example:
      queuelog stats --watch
    """
    with calling() as client:
        while True:
            numbers = client.stats()
            if as_json:
                click.echo(json.dumps(numbers))
            else:
                for line in _lines(numbers):
                    click.echo(line)
            if not watch:
                return
            time.sleep(2)


def _lines(numbers: Any) -> Iterator[str]:
    yield from table([{"type": name, **counts} for name, counts in numbers["types"].items()])
    yield ""
    for name in ("due", "delayed", "expired_leases"):
        more = " or more" if numbers[name]["capped"] else ""
        yield f"{name}: {numbers[name]['count']}{more}"
    ages = {name: age for name, age in numbers["oldest_due_age_seconds"].items() if age is not None}
    waits = ", ".join(f"{name} {age:.0f} s" for name, age in ages.items())
    yield f"oldest due: {waits or '-'}"
    yield f"late reports: {numbers['late_reports']}"
