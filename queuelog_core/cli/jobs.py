"""`queuelog jobs`: look at jobs, cancel them, send dead ones on their way again."""

from itertools import islice
from typing import Any

import click

from queuelog_core.cli.shared import calling, fail, print_rows
from queuelog_core.job import PRIORITIES, Status

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
json_lines = click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")


@click.group()
def jobs() -> None:
    """Look at jobs, cancel and redrive them."""


@jobs.command("list")
@click.option("--status", type=click.Choice([status.value for status in Status]))
@click.option("--type", "job_type", metavar="TYPE")
@click.option("--priority", type=click.Choice(list(PRIORITIES)))
@click.option("--producer", metavar="NAME")
@click.option("--worker", metavar="NAME")
@click.option("--oldest-first", is_flag=True)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1))
@json_lines
def list_jobs(job_type: str | None, limit: int, as_json: bool, **asked: Any) -> None:
    """List jobs that the key may see, the newest first.

    \b
    Example:
      queuelog jobs list --status failed --type email --limit 10
    """
    with calling() as client:
        found = client.jobs(
            status=asked["status"],
            type=job_type,
            priority=asked["priority"],
            producer_id=asked["producer"],
            worker_id=asked["worker"],
            order="asc" if asked["oldest_first"] else None,
            limit=min(limit, 200),
        )
        some = islice(found, limit)
        print_rows(some if as_json else list(some), SHOWN, as_json=as_json)


@jobs.command()
@click.argument("job_id", metavar="ID", type=int)
@json_lines
def show(job_id: int, as_json: bool) -> None:
    """Show all of one job."""
    with calling() as client:
        job = client.get(job_id)
        if as_json:
            print_rows([job], SHOWN, as_json=True)
            return
        width = max(map(len, job._fields))
        for name, value in job._asdict().items():
            click.echo(f"{name.ljust(width)}  {'-' if value is None else value}")


@jobs.command()
@click.argument("job_id", metavar="ID", type=int)
@json_lines
def attempts(job_id: int, as_json: bool) -> None:
    """Show the newest ten attempts of a job; error texts are for admins."""
    with calling() as client:
        found = client.attempts(job_id)
        print_rows(found.attempts, ATTEMPTS_SHOWN, as_json=as_json)
        if found.dropped:
            click.echo(f"{found.dropped} older ones are gone", err=True)


@jobs.command()
@click.argument("job_ids", metavar="ID...", type=int, nargs=-1, required=True)
def cancel(job_ids: tuple[int, ...]) -> None:
    """Cancel jobs; of running ones the worker is asked to stop."""
    with calling() as client:
        for job_id in job_ids:
            job = client.cancel(job_id)
            asked = "" if job.status == "cancelled" else ", its worker is asked to stop"
            click.echo(f"{job.id} is {job.status}{asked}")


@jobs.command()
@click.argument("job_ids", metavar="[ID...]", type=int, nargs=-1)
@click.option("--status", type=click.Choice(["failed", "cancelled"]))
@click.option("--type", "job_type", metavar="TYPE")
@click.option("--error-code", metavar="CODE")
@click.option("--limit", type=click.IntRange(1), help="At most so many jobs.")
@click.option("--dry-run", is_flag=True, help="Only count, up to 200.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def redrive(
    job_ids: tuple[int, ...],
    status: str | None,
    job_type: str | None,
    error_code: str | None,
    limit: int | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Send failed or cancelled jobs on their way again: by ID, or all that the options mean.

    \b
    Examples:
      queuelog jobs redrive 7 8
      queuelog jobs redrive --status failed --error-code smtp_down --yes
    """
    if bool(job_ids) == bool(status):
        raise click.UsageError("name the jobs, or give --status")
    with calling() as client:
        for job_id in job_ids:
            click.echo(f"{client.redrive(job_id).id} is pending")
        if job_ids:
            return
        where: dict[str, Any] = {"status": status, "job_type": job_type, "error_code": error_code}
        counted = client.redrive_many(**where, limit=min(limit or 200, 200), dry_run=True)
        many = f"{counted.matched}{' or more' if counted.more and not limit else ''}"
        if dry_run or not counted.matched:
            click.echo(many)
            return
        if not yes and not click.confirm(f"Redrive {many} jobs?", err=True):
            fail("nothing was changed")
        left = limit
        total = 0
        while left is None or left > 0:
            step = client.redrive_many(**where, limit=min(left or 200, 200))
            total += step.redriven
            left = None if left is None else left - step.matched
            if not step.more:
                break
        click.echo(total)
