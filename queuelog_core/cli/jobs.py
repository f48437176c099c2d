"""`queuelog jobs`: look at jobs, and cancel them."""

from itertools import islice
from typing import Any

import click

from queuelog_core.cli.filters import filters, wanted
from queuelog_core.cli.redrive import redrive
from queuelog_core.cli.screen import cell, json_line, print_rows
from queuelog_core.cli.shared import JobId, calling, each, json_option
from queuelog_core.cli.tail import tail
from queuelog_core.cli.transfer import export, import_jobs
from queuelog_core.client import Job

SHOWN = ("id", "type", "status", "priority", "attempt", "error_code", "created_at", "worker_id")
ATTEMPTS_SHOWN = (
    "attempt",
    "worker_id",
    "claimed_at",
    "ended_at",
    "outcome",
    "error_code",
    "error",
)


@click.group()
def jobs() -> None:
    """Look at jobs, follow, cancel, redrive, export and import them."""


@jobs.command("list")
@filters
@click.option("--oldest-first", is_flag=True)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1))
@json_option()
def list_jobs(limit: int, oldest_first: bool, as_json: bool, **asked: Any) -> None:
    """List jobs that the key may see, the newest first.

    \b
    Example:
      queuelog jobs list --status failed --type email --limit 10
    """
    with calling() as client:
        order = "asc" if oldest_first else None
        found = client.jobs(**wanted(asked), order=order, limit=min(limit, 200))
        print_rows(islice(found, limit), SHOWN, as_json=as_json)


@jobs.command()
@click.argument("job_id", metavar="ID", type=JobId())
@json_option("Print the job on one line.")
def show(job_id: int, as_json: bool) -> None:
    """Show all of one job.

    \b
    Example:
      queuelog jobs show 1
    """
    with calling() as client:
        job = client.get(job_id)
        if as_json:
            print_rows([job], SHOWN, as_json=True)
            return
        width = max(map(len, job._fields))
        for name, value in job._asdict().items():
            click.echo(f"{name.ljust(width)}  {cell(value)}")


@jobs.command()
@click.argument("job_id", metavar="ID", type=JobId())
@json_option()
def attempts(job_id: int, as_json: bool) -> None:
    """Show the newest ten attempts of a job; error texts are for admins.

    \b
    Example:
      queuelog jobs attempts 1
    """
    with calling() as client:
        found = client.attempts(job_id)
        print_rows(found.attempts, ATTEMPTS_SHOWN, as_json=as_json)
        if found.dropped:
            click.echo(f"{found.dropped} older ones are gone", err=True)


@jobs.command()
@click.argument("job_ids", metavar="ID...", type=JobId(), nargs=-1, required=True)
@json_option("Print {id, status, cancel_requested} for each.")
def cancel(job_ids: tuple[int, ...], as_json: bool) -> None:
    """Cancel jobs; of running ones the worker is asked to stop. A redrive undoes it.

    \b
    Example:
      queuelog jobs cancel 2 3
    """
    with calling() as client:
        each(job_ids, lambda job_id: _print_cancelled(client.cancel(job_id), as_json))


def _print_cancelled(job: Job, as_json: bool) -> None:
    asked = job.status != "cancelled"
    if as_json:
        told = {"id": job.id, "status": job.status, "cancel_requested": asked}
        click.echo(json_line(told))
    else:
        more = ", its worker is asked to stop" if asked else ""
        click.echo(f"{job.id} is {job.status}{more}")


for command in (redrive, tail, export, import_jobs):
    jobs.add_command(command)
