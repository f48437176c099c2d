"""The `queuelog` command. What was asked for goes to stdout, errors and remarks to stderr.

Exit codes: 0 ok, 1 failed, 2 usage.
"""

import contextlib
import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from queuelog_core import __version__
from queuelog_core.clock import SystemClock, format_instant
from queuelog_core.config import DEFAULT_KEYS, DEFAULT_STORE, load_config
from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.identity import NAME, KeyRecord, Role
from queuelog_core.job import PRIORITIES
from queuelog_core.key_registry import FileRegistry, open_registry

if TYPE_CHECKING:
    from queuelog_core.serve import LoadHandlers

HOME = Path(".queuelog")
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])", re.ASCII)
_LIFETIME_SECONDS_MAX = 36_500 * 86_400
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        _fail(str(error))
    except StoreUnavailable as error:
        _fail(f"the store cannot be used: {error.reason}")
    except BrokenPipeError:
        raise  # click ends quietly when the reader of stdout is gone
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _fail(text: str) -> None:
    click.echo(f"error: {text}", err=True)
    sys.exit(1)


def _home_of(*settings: str) -> None:
    """Make the folder that the defaults lie in, if one of them is in use."""
    if {*settings} & {DEFAULT_STORE, DEFAULT_KEYS}:
        HOME.mkdir(mode=0o700, exist_ok=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="queuelog")
def main() -> None:
    """A background job queue over HTTP that you host yourself."""


@main.command()
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
def serve(host: str, port: int, demo: bool, handlers: str, no_upkeep: bool) -> None:
    """Serve the whole API.

    \b
    Example:
      queuelog serve --port 8080
    """
    from queuelog_core.serve import Options
    from queuelog_core.serve import serve as run

    with _one_line_errors():
        config = load_config()
        _home_of(config.store, config.keys, *([DEFAULT_STORE] if demo else []))
        options = Options(
            host=host,
            port=port,
            upkeep=not no_upkeep,
            folder=HOME,
            load_handlers=_load_handlers(handlers) if demo else None,
        )
        run(config, options, _say)


def _say(text: str) -> None:
    # A reader of stdout that is gone must not end the server.
    with contextlib.suppress(OSError):
        click.echo(text)


def _load_handlers(module: str) -> "LoadHandlers":
    sys.path.insert(0, str(Path.cwd()))
    try:
        load: LoadHandlers = importlib.import_module(module).handlers
    except Exception as error:
        raise ConfigError(f"--handlers {module}: {type(error).__name__}: {error}") from error
    return load


@main.group()
def keys() -> None:
    """Make, list, revoke and rotate API keys."""


def _registry() -> FileRegistry:
    config = load_config()
    _home_of(config.keys)
    return open_registry(config.keys, SystemClock())


@keys.command()
@click.argument("name")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--priority-max", type=click.Choice(list(PRIORITIES)), help="Highest priority.")
@click.option("--types", help="Comma-separated job types; all of them if not given.")
@click.option("--expires", metavar="90d", help="Lifetime in s, m, h or d; for ever if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print {id, name, role, key}.")
def create(
    name: str,
    role: str,
    priority_max: str | None,
    types: str | None,
    expires: str | None,
    as_json: bool,
) -> None:
    """Make a key for NAME and print it, this once.

    \b
    Example:
      queuelog keys create shop --role producer --priority-max high
    """
    cap = priority_max or ("critical" if role == Role.ADMIN else "medium")
    lifetime = None if expires is None else _seconds(expires)
    with _one_line_errors():
        registry = _registry()
        record, key = registry.create(
            name,
            Role(role),
            priority_max=PRIORITIES[cap],
            types=None if types is None else _names(types),
            expires_at=None if lifetime is None else SystemClock()() + lifetime * 1000,
        )
        _print_key(record, key, as_json)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def list_keys(as_json: bool) -> None:
    """List keys, without their secrets."""
    with _one_line_errors():
        shown = [_shown(record) for record in _registry().records()]
        lines = map(json.dumps, shown) if as_json else _table(shown)
        for line in lines:
            click.echo(line)


@keys.command()
@click.argument("key_id", metavar="ID")
def revoke(key_id: str) -> None:
    """End the key with this ID; servers notice within a second."""
    with _one_line_errors():
        record = _registry().revoke(key_id)
        click.echo(f"revoked {record.id} of {record.name}", err=True)


@keys.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print {id, name, role, key}.")
def rotate(name: str, as_json: bool) -> None:
    """Make a second key for NAME with the same powers; revoke the old one when it is unused."""
    with _one_line_errors():
        record, key = _registry().rotate(name)
        _print_key(record, key, as_json)


def _print_key(record: KeyRecord, key: str, as_json: bool) -> None:
    shown = {"id": record.id, "name": record.name, "role": record.role.value, "key": key}
    click.echo(json.dumps(shown) if as_json else key)
    if not as_json:
        click.echo(f"{record.id} of {record.name}; it is not shown again", err=True)


def _shown(record: KeyRecord) -> dict[str, Any]:
    document = record.to_json()
    del document["digest"]
    for name in ("created_at", "expires_at", "revoked_at"):
        document[name] = None if document[name] is None else format_instant(document[name])
    return document


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows in columns under their names."""
    cells = (
        [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)] if rows else []
    )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _cell(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value or "-")


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(","))
    if not all(NAME.fullmatch(name) for name in names):
        raise click.BadParameter("looks like email,pdf", param_hint="--types")
    return names


def _seconds(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise click.BadParameter("looks like 90d, 12h or 30m", param_hint="--expires")
    seconds = int(match.group(1)) * _UNIT_SECONDS[match.group(2)]
    if seconds > _LIFETIME_SECONDS_MAX:
        raise click.BadParameter("is at most 36500d", param_hint="--expires")
    return seconds


if __name__ == "__main__":
    main()
