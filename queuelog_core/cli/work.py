"""`queuelog work`: run a worker that a module of yours defines."""

import importlib
import sys
from pathlib import Path

import click

from queuelog_core.cli.shared import Duration, one_line_errors
from queuelog_core.errors import ConfigError
from queuelog_core.worker import Worker


@click.command()
@click.argument("where", metavar="MODULE:WORKER")
@click.option("--drain", is_flag=True, help="End when nothing is due any more.")
@click.option("--budget", type=Duration(), default="5m", show_default=True, help="With --drain.")
def work(where: str, drain: bool, budget: int) -> None:
    """Run the Worker that MODULE holds under the name WORKER, until Ctrl-C.

    \b
    Example, with mail.py here that says worker = Worker():
      queuelog work mail:worker
    """
    with one_line_errors():
        worker = _load(where)
        click.echo(f"works on {', '.join(sorted(worker.types))}; Ctrl-C stops it", err=True)
        if drain:
            done = worker.drain(budget)
            click.echo(" ".join(f"{name}={number}" for name, number in done._asdict().items()))
        else:
            worker.run()


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
