"""`queuelog enqueue`: one job, or a job for each line of stdin."""

import sys
from pathlib import Path
from typing import Any

import click

from queuelog_core.cli.lines import (
    PAYLOAD_DEPTH_MAX,
    end_unless_all_were_taken,
    enqueue_lines,
    json_object,
    stdin_lines,
)
from queuelog_core.cli.screen import json_line
from queuelog_core.cli.shared import (
    BUDGET_SECONDS,
    LONG_BUDGET_SECONDS,
    Duration,
    calling,
    json_option,
    only_with,
)
from queuelog_core.client import Client, Job, new_job
from queuelog_core.job import PRIORITIES

STDIN = "-"


@click.command()
@click.argument("job_type", metavar="TYPE")
@click.argument("payload", required=False)
@click.option("--priority", type=click.Choice(list(PRIORITIES), case_sensitive=False))
@click.option("--delay", type=Duration(365), help="Not before this time has passed: 30m, 2h, 7d.")
@click.option("--max-retries", type=click.IntRange(0, 25))
@click.option(
    "--idempotency-key",
    metavar="KEY",
    help="The same KEY makes the job only once; with -, each line has KEY-1, KEY-2 and so on.",
)
@click.option("--wait", is_flag=True, help="Wait until the job has ended; exit 1 if it failed.")
@click.option("--timeout", type=Duration(), default="5m", show_default=True, help="With --wait.")
@json_option("Print the whole job; with - {line, id, replayed} for each.")
def enqueue(
    job_type: str,
    payload: str | None,
    idempotency_key: str | None,
    wait: bool,
    timeout: int,
    as_json: bool,
    **asked: Any,
) -> None:
    """Enqueue a job of TYPE; print its id.

    PAYLOAD is a JSON object, @FILE that holds one, or - for one JSON object on each line of stdin:
    then all of them are enqueued, in batches, and a line that is refused stops no other.

    \b
    Examples:
      queuelog enqueue email '{"to": "ada@example.com"}' --priority high
      queuelog enqueue pdf @report.json --delay 30m
      queuelog enqueue email '{"to": "bob@example.com"}' --wait
      cat addresses.jsonl | queuelog enqueue email - --idempotency-key monday
    """
    only_with("--wait", wait, "timeout")
    if idempotency_key == "":
        raise click.UsageError("the KEY of --idempotency-key is empty: is its variable set?")
    fields = {
        "priority": asked["priority"],
        "max_retries": asked["max_retries"],
        "delay_seconds": asked["delay"],
    }
    if payload == STDIN:
        if wait:
            raise click.UsageError("--wait is for a single job")
        return _enqueue_stdin(job_type, fields, idempotency_key, as_json)
    found = None if payload is None else _payload(payload)
    with calling(BUDGET_SECONDS) as client:
        job = client.enqueue(job_type, found, idempotency_key=idempotency_key, **fields)
        _print(client, job, timeout if wait else None, as_json)


def _print(client: Client, job: Job, timeout: int | None, as_json: bool) -> None:
    """Tell which job it is, before a wait that may be broken off, and then what became of it."""
    if not as_json:
        click.echo(job.id)
    elif timeout:
        click.echo(f"waits for job {job.id}", err=True)
    if timeout:
        job = client.wait(job.id, timeout_seconds=timeout)
    if as_json:
        click.echo(json_line(job._asdict()))
    else:
        click.echo(f"{job.type} is {job.status}", err=True)
    if timeout and job.status != "completed":
        sys.exit(1)


def _enqueue_stdin(job_type: str, fields: dict[str, Any], key: str | None, as_json: bool) -> None:
    def to_job(number: int, line: bytes) -> dict[str, Any]:
        own = None if key is None else f"{key}-{number}"
        payload = json_object(line, PAYLOAD_DEPTH_MAX)
        return new_job(job_type, payload, idempotency_key=own, **fields)

    stream = stdin_lines()
    with calling(LONG_BUDGET_SECONDS) as client:
        counts = enqueue_lines(client, stream, to_job, as_json=as_json)
        end_unless_all_were_taken(counts)


def _payload(text: str) -> dict[str, Any]:
    try:
        data = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return json_object(data, PAYLOAD_DEPTH_MAX)
    except OSError as error:
        raise click.UsageError(f"PAYLOAD {text}: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"PAYLOAD {error}") from None
