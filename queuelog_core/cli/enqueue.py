"""`queuelog enqueue`: one job, or a job for each line of stdin."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from queuelog_core.cli.shared import Duration, calling, fail, print_rows
from queuelog_core.client import Client, Job, new_job
from queuelog_core.job import PRIORITIES


@click.command()
@click.argument("job_type", metavar="TYPE")
@click.argument("payload", required=False)
@click.option("--priority", type=click.Choice(list(PRIORITIES)))
@click.option("--delay", type=Duration(), help="Not before this time has passed: 30m, 2h, 7d.")
@click.option("--max-retries", type=click.IntRange(0, 25))
@click.option("--idempotency-key", metavar="KEY", help="The same KEY makes the job only once.")
@click.option("--wait", is_flag=True, help="Wait until the job has ended; exit 1 if it failed.")
@click.option("--timeout", type=Duration(), default="5m", show_default=True, help="With --wait.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole job, or each result.")
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
    then all of them are enqueued, in batches.

    \b
    Examples:
      queuelog enqueue email '{"to": "ada@example.com"}' --priority high
      queuelog enqueue pdf @report.json --delay 30m
      cat addresses.jsonl | queuelog enqueue email -
    """
    fields = {
        "priority": asked["priority"],
        "max_retries": asked["max_retries"],
        "delay_seconds": asked["delay"],
    }
    if payload == "-" and (wait or idempotency_key):
        raise click.UsageError("--wait and --idempotency-key are for a single job")
    with calling() as client:
        if payload == "-":
            return _enqueue_lines(client, job_type, fields, as_json)
        found = None if payload is None else _object(_text_of(payload), "PAYLOAD")
        job = client.enqueue(job_type, found, idempotency_key=idempotency_key, **fields)
        if wait:
            job = client.wait(job.id, timeout_seconds=timeout)
        _print(job, as_json)
        if wait and job.status != "completed":
            sys.exit(1)


def _print(job: Job, as_json: bool) -> None:
    if as_json:
        print_rows([job], [], as_json=True)
    else:
        click.echo(job.id)
        click.echo(f"{job.type} is {job.status}", err=True)


def _enqueue_lines(client: Client, job_type: str, fields: dict[str, Any], as_json: bool) -> None:
    refused = 0
    jobs = (new_job(job_type, payload, **fields) for payload in _lines())
    for result in client.enqueue_many(jobs):
        if result.error is not None:
            refused += 1
            said = "; ".join(fault["message"] for fault in result.error["errors"])
            words = said or result.error["detail"]
            click.echo(f"error: line {result.index + 1}: {words}", err=True)
        elif as_json:
            click.echo(json.dumps({"line": result.index + 1, "id": result.id}))
        else:
            click.echo(result.id)
    if refused:
        fail(f"{refused} of the lines were refused; the others are enqueued")


def _lines() -> Iterator[dict[str, Any]]:
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            yield _object(line, f"line {number}")


def _text_of(payload: str) -> str:
    return Path(payload[1:]).read_text("utf-8") if payload.startswith("@") else payload


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{where} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"{where} must be a JSON object")
    return value
