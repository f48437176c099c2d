"""`queuelog work`: run a worker that a module of yours defines."""

import importlib
import sys
from pathlib import Path

import click

from queuelog_core.cli.screen import json_line, progress
from queuelog_core.cli.shared import Duration, json_option, one_line_errors
from queuelog_core.errors import ConfigError
from queuelog_core.worker import Worker


@click.command()
@click.argument("where", metavar="MODULE:WORKER")
@click.option("--drain", is_flag=True, help="End when nothing is due any more.")
@click.option("--budget", type=Duration(), default="5m", show_default=True, help="With --drain.")
@json_option("Print {completed, failed, released, lost} at the end.")
def work(where: str, drain: bool, budget: int, as_json: bool) -> None:
    """Run jobs with a Worker of yours.

    MODULE, here or on the path, holds it under the name WORKER. It goes on until Ctrl-C or SIGTERM,
    then lets running jobs end and prints how many ended how.

    \b
    Examples, with a mail.py here that holds a Worker called worker:
      queuelog work mail:worker
      queuelog work mail:worker --drain --budget 10m
    """
    with one_line_errors():
        worker = _load(where)
        click.echo(f"works on {', '.join(sorted(worker.types))}; Ctrl-C stops it", err=True)
        if drain:
            with progress("done") as advance:
                done = worker.drain(budget, ended=lambda _outcome: advance(1))
        else:
            done = worker.run()
        counts = done._asdict()
        words = " ".join(f"{name}={number}" for name, number in counts.items())
        click.echo(json_line(counts) if as_json else words)


def _load(where: str) -> Worker:
    module, _, name = where.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name or "worker")
    except Exception as error:
        raise ConfigError(f"{where}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Worker) or not found.types:
        raise ConfigError(f"{where} is no Worker with handlers")
    return found
