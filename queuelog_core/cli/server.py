"""`queuelog serve`."""

import contextlib
import functools
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from queuelog_core.cli.screen import go_on_without_stdout, json_line
from queuelog_core.cli.shared import HOME, fail, home_of, json_option, one_line_errors
from queuelog_core.config import DEFAULT_STORE, load_config
from queuelog_core.errors import ConfigError

if TYPE_CHECKING:
    from queuelog_core.serve import LoadHandlers


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65_535))
@click.option("--demo", is_flag=True, help="Add sample keys and a worker that runs the jobs.")
@click.option(
    "--handlers",
    default="functions.job_handlers",
    show_default=True,
    metavar="MODULE",
    help="What the demo's worker runs: a module with handlers(folder).",
)
@click.option("--no-upkeep", is_flag=True, help="Leave recovery and purge to another process.")
@json_option("Print {url} once it serves.")
def serve(host: str, port: int, demo: bool, handlers: str, no_upkeep: bool, as_json: bool) -> None:
    """Serve the whole API until Ctrl-C.

    \b
    Examples:
      queuelog serve --port 8080
      queuelog serve --demo --port 0
    """
    try:
        from queuelog_core.serve import Options
        from queuelog_core.serve import serve as run
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed", hint="pip install 'queuelog[server]'")

    go_on_without_stdout()
    with one_line_errors():
        config = load_config()
        home_of(config.store, config.keys, *([DEFAULT_STORE] if demo else []))
        options = Options(
            host=host,
            port=port,
            upkeep=not no_upkeep,
            folder=HOME,
            load_handlers=_load_handlers(handlers) if demo else None,
            ready=lambda url: _say(json_line({"url": url})) if as_json else None,
        )
        run(config, options, functools.partial(_say, err=as_json))


def _say(text: str, *, err: bool = False) -> None:
    # A reader of stdout that is gone must not end the server.
    with contextlib.suppress(OSError):
        click.echo(text, err=err)


def _load_handlers(module: str) -> "LoadHandlers":
    sys.path.insert(0, str(Path.cwd()))
    try:
        load: LoadHandlers = importlib.import_module(module).handlers
    except Exception as error:
        raise ConfigError(f"--handlers {module}: {type(error).__name__}: {error}") from error
    return load
