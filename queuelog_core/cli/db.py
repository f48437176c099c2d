"""`queuelog db`: look after the file that the jobs lie in."""

import json
import sys
from pathlib import Path

import click

from queuelog_core.bootstrap import open_queue
from queuelog_core.cli.shared import Duration, fail, one_line_errors
from queuelog_core.config import load_config
from queuelog_core.job import TERMINAL, Status
from queuelog_core.stores import open_file

PURGED_PER_STEP = 10_000


@click.group()
def db() -> None:
    """Back up, check and purge the SQLite file that QUEUELOG_STORE names."""


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print {path, bytes}.")
def backup(target: Path, as_json: bool) -> None:
    """Copy the jobs as they are now into a new file TARGET, while the queue goes on.

    \b
    Example:
      queuelog db backup backups/monday.db
    """
    with one_line_errors():
        file = open_file(load_config().store)
        try:
            file.backup(target)
        finally:
            file.close()
        size = target.stat().st_size
        click.echo(json.dumps({"path": str(target), "bytes": size}) if as_json else target)
        if not as_json:
            click.echo(f"{size} bytes, read through and found whole", err=True)


@db.command()
@click.option("--json", "as_json", is_flag=True, help="Print {ok, faults}.")
def check(as_json: bool) -> None:
    """Look for damage in the file; exit 1 if there is any.

    On a local disk the queue goes on meanwhile; on a network volume nobody can write until it ends.

    \b
    Example:
      queuelog db check
    """
    with one_line_errors():
        file = open_file(load_config().store)
        try:
            faults = file.check()
        finally:
            file.close()
    if as_json:
        click.echo(json.dumps({"ok": not faults, "faults": faults}))
    else:
        for line in faults or ["ok"]:
            click.echo(line)
    if faults:
        sys.exit(1)


@db.command()
@click.option("--older-than", type=Duration(), required=True, help="By the time they finished.")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice([status.value for status in TERMINAL])
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(older_than: int, statuses: tuple[str, ...], yes: bool) -> None:
    """Delete finished jobs for good, with their results and keys; print how many.

    \b
    Example:
      queuelog db purge --older-than 7d --status completed --yes
    """
    chosen = tuple(map(Status, statuses)) or TERMINAL
    names = ", ".join(status.value for status in chosen)
    with one_line_errors():
        config = load_config()
        open_file(config.store).close()
        if not yes and not click.confirm(f"Delete {names} jobs for good?", err=True):
            fail("nothing was deleted")
        queue = open_queue(config)
        total = 0
        while step := queue.purge(older_than, PURGED_PER_STEP, chosen):
            total += step
        queue.store.close()
        click.echo(total)
