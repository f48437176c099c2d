"""`queuelog db`: look after the file that the jobs lie in."""

import json
import sys
from pathlib import Path

import click

from queuelog_core.backups import stamp
from queuelog_core.bootstrap import open_queue
from queuelog_core.cli.db_copy import copy as copy_jobs
from queuelog_core.cli.screen import progress
from queuelog_core.cli.shared import Duration, confirm, json_option, one_line_errors
from queuelog_core.clock import SystemClock
from queuelog_core.config import load_config
from queuelog_core.job import TERMINAL, Status
from queuelog_core.stores import is_table
from queuelog_core.stores.operators import migrate as migrate_store
from queuelog_core.stores.operators import open_file, restore_file

PURGED_PER_STEP = 1_000


@click.group()
def db() -> None:
    """Look after the SQLite file that QUEUELOG_STORE names, or move to another store."""


db.add_command(copy_jobs)


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
@json_option("Print {path, bytes}.")
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
@json_option("Print {ok, faults}.")
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
@json_option("Print {before, after}, the versions of the schema.")
def migrate(as_json: bool) -> None:
    """Bring the file of an older version up to this one; a server's start does it too.

    Stop the servers of the older version and make a backup first. Of dynamodb://… the table is made
    if it is not there, which no server does.

    \b
    Example:
      queuelog db migrate
    """
    with one_line_errors():
        before, after = migrate_store(load_config().store)
    if as_json:
        click.echo(json.dumps({"before": before, "after": after}))
    elif before == after:
        click.echo(f"schema version {after}, nothing to do")
    else:
        click.echo(f"schema version {before} is now {after}")


@db.command()
@click.argument("copy", metavar="BACKUP", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option("Print {aside}, null if no file was there.")
def restore(copy: Path, yes: bool, as_json: bool) -> None:
    """Put a BACKUP in the place of the file; stop the servers first.

    The file that was there is kept beside it under the name that is printed. A server that still
    has it open says that it was replaced, and writes nothing more into it.

    \b
    Example:
      queuelog db restore backups/monday.db --yes
    """
    with one_line_errors():
        store = load_config().store
        confirm(f"Replace the jobs by those of {copy}?", yes=yes)
        aside = restore_file(store, copy, stamp(SystemClock()()))
        kept = str(aside) if aside.exists() else None
        if as_json:
            click.echo(json.dumps({"aside": kept}))
        else:
            click.echo(kept or "restored; no file was there before", err=kept is None)


@db.command()
@click.option("--older-than", type=Duration(), required=True, help="By the time they finished.")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice([status.value for status in TERMINAL])
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option("Print {purged}.")
def purge(older_than: int, statuses: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete finished jobs for good, with their results and keys; print how many.

    \b
    Example:
      queuelog db purge --older-than 7d --status completed --yes
    """
    chosen = tuple(map(Status, statuses)) or TERMINAL
    names = ", ".join(status.value for status in chosen)
    with one_line_errors():
        config = load_config()
        if not is_table(config.store):
            open_file(config.store).close()
        confirm(f"Delete {names} jobs for good?", yes=yes)
        queue = open_queue(config)
        total = 0
        with progress("purged") as advance:
            while step := queue.purge(older_than, PURGED_PER_STEP, chosen, to_the_end=True):
                total += step
                advance(step)
        queue.store.close()
    click.echo(json.dumps({"purged": total}) if as_json else total)
