"""`queuelog jobs redrive`: send dead jobs on their way again."""

from typing import Any

import click

from queuelog_core.cli.screen import json_line, progress
from queuelog_core.cli.shared import (
    LONG_BUDGET_SECONDS,
    JobId,
    calling,
    confirm,
    each,
    json_option,
)
from queuelog_core.client import Client

STEP = 200


@click.command()
@click.argument("job_ids", metavar="[ID...]", type=JobId(), nargs=-1)
@click.option("--status", type=click.Choice(["failed", "cancelled"]))
@click.option("--type", "job_type", metavar="TYPE")
@click.option("--error-code", metavar="CODE")
@click.option("--limit", type=click.IntRange(1), help="At most so many jobs.")
@click.option("--dry-run", is_flag=True, help=f"Only count, up to {STEP}.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option("Print {id, status} for each ID; {matched, more} or {redriven} for a filter.")
def redrive(
    job_ids: tuple[int, ...],
    limit: int | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """Send failed or cancelled jobs on their way again: by ID, or all that the options mean.

    \b
    Examples:
      queuelog jobs redrive 2 3
      queuelog jobs redrive --status failed --error-code smtp_down --dry-run
      queuelog jobs redrive --status failed --error-code smtp_down --yes
    """
    if bool(job_ids) == bool(where["status"]):
        raise click.UsageError("name the jobs, or give --status")
    if job_ids and (dry_run or limit or where["job_type"] or where["error_code"]):
        raise click.UsageError("the options choose among all jobs: name none beside them")
    with calling(LONG_BUDGET_SECONDS) as client:
        if job_ids:
            return _by_id(client, job_ids, as_json)
        counted = client.redrive_many(**where, limit=min(limit or STEP, STEP), dry_run=True)
        more = counted.more and (limit is None or limit > STEP)
        many = f"{counted.matched}{' or more' if more else ''}"
        if dry_run:
            click.echo(json_line({"matched": counted.matched, "more": more}) if as_json else many)
            return
        total = 0
        if counted.matched:
            confirm(f"Redrive {many} jobs?", yes=yes)
            total = _by_filter(client, where, limit, None if more else counted.matched)
        click.echo(json_line({"redriven": total}) if as_json else total)


def _by_id(client: Client, job_ids: tuple[int, ...], as_json: bool) -> None:
    def one(job_id: int) -> None:
        job = client.redrive(job_id)
        told = {"id": job.id, "status": job.status}
        click.echo(json_line(told) if as_json else f"{job.id} is {job.status}")

    each(job_ids, one)


def _by_filter(
    client: Client, where: dict[str, Any], limit: int | None, expected: int | None
) -> int:
    total, left = 0, limit
    with progress("redriven", expected) as advance:
        while left is None or left > 0:
            step = client.redrive_many(**where, limit=min(left or STEP, STEP))
            total += step.redriven
            advance(step.redriven)
            left = None if left is None else left - step.matched
            if not step.more:
                break
    return total
