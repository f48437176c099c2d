"""`queuelog work`: run a worker that a module of yours defines."""

import importlib
import sys
from pathlib import Path

import click
from click.core import ParameterSource

from queuelog_core.cli.screen import go_on_without_stdout, json_line, progress
from queuelog_core.cli.shared import Duration, json_option, one_line_errors, tell
from queuelog_core.config import load_config
from queuelog_core.errors import ConfigError
from queuelog_core.logs import set_up_logging
from queuelog_core.worker import Drained, Worker


@click.command()
@click.argument("where", metavar="MODULE:WORKER")
@click.option("--drain", is_flag=True, help="End when nothing is due any more.")
@click.option("--budget", type=Duration(), default="5m", show_default=True, help="With --drain.")
@json_option("Print {completed, failed, released, lost} at the end.")
@click.pass_context
def work(context: click.Context, where: str, drain: bool, budget: int, as_json: bool) -> None:
    """Run jobs with a Worker of yours.

    MODULE, here or on the path, holds it under the name WORKER. It goes on until Ctrl-C or SIGTERM,
    then lets running jobs end and prints how many ended how.

    \b
    Examples, with a mail.py here that holds a Worker called worker:
      queuelog work mail:worker
      queuelog work mail:worker --drain --budget 10m
    """
    if not drain and context.get_parameter_source("budget") is not ParameterSource.DEFAULT:
        raise click.UsageError("--budget goes with --drain")
    go_on_without_stdout()
    with one_line_errors():
        worker = _load(where)
        level = load_config().log_level
        click.echo(f"works on {', '.join(sorted(worker.types))}; Ctrl-C stops it", err=True)
        done = _drain(worker, budget, level) if drain else _run(worker, level)
        counts = done._asdict()
        words = " ".join(f"{name}={number}" for name, number in counts.items())
        click.echo(json_line(counts) if as_json else words)


def _run(worker: Worker, log_level: str) -> Drained:
    set_up_logging(log_level)
    return worker.run()


def _drain(worker: Worker, budget: int, log_level: str) -> Drained:
    too_long = sorted(name for name, timeout in worker.timeouts.items() if timeout > budget)
    if len(too_long) == len(worker.types):
        raise click.UsageError("the budget is shorter than the timeout of every handler")
    if too_long:
        tell("left out", f"the budget is shorter than the timeout of {', '.join(too_long)}")
    with progress("done") as advance:
        # Inside, for a bar takes stderr over and keeps lines above itself.
        set_up_logging(log_level)
        return worker.drain(budget, ended=lambda _outcome: advance(1))


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
