"""What the commands share: errors in one line, exit codes, durations, tables, JSON lines."""

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import click

from queuelog_core.client import (
    Client,
    ClientError,
    Conflict,
    Forbidden,
    NotFound,
    Unauthorized,
    Unreachable,
)
from queuelog_core.config import DEFAULT_KEYS, DEFAULT_STORE
from queuelog_core.errors import ConfigError, StoreUnavailable

HOME = Path(".queuelog")
BUDGET_SECONDS = 10.0
"""Somebody sits in front of it and waits."""
FAILED, USAGE, NOT_FOUND, AUTH, CONFLICT, SERVER = range(1, 7)
HINTS: Mapping[type[ClientError], str] = {
    Unauthorized: "set QUEUELOG_API_KEY",
    Forbidden: "queuelog keys list shows what a key may do",
    Unreachable: "is QUEUELOG_URL right, and does the server run?",
}
_CODES: Sequence[tuple[type[ClientError], int]] = (
    (NotFound, NOT_FOUND),
    (Unauthorized, AUTH),
    (Forbidden, AUTH),
    (Conflict, CONFLICT),
    (Unreachable, SERVER),
)
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A length of time such as 90s, 30m, 12h or 7d, as seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        """See click.ParamType."""
        seconds = seconds_in(str(value))
        if seconds is None:
            self.fail("looks like 90s, 30m, 12h or 7d", param, context)
        return seconds


def seconds_in(text: str) -> int | None:
    """90s, 30m, 12h or 7d in seconds; None for anything else."""
    match = _DURATION.fullmatch(text)
    return None if match is None else int(match.group(1)) * _UNIT_SECONDS[match.group(2)]


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the command with one line for what a user or an operator can mend."""
    try:
        yield
    except ConfigError as error:
        fail(str(error))
    except StoreUnavailable as error:
        fail(f"the store cannot be used: {error.reason}")
    except ClientError as error:
        _fail_like_the_server(error)
    except TimeoutError as error:
        fail(str(error))
    except BrokenPipeError:
        raise  # click ends quietly when the reader of stdout is gone
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


@contextlib.contextmanager
def calling() -> Iterator[Client]:
    """A client from the settings, whose errors end the command in one line."""
    with one_line_errors(), Client(budget_seconds=BUDGET_SECONDS) as client:
        yield client


def fail(text: str, code: int = FAILED) -> NoReturn:
    """Tell what went wrong and end the command."""
    click.echo(f"error: {text}", err=True)
    sys.exit(code)


def _fail_like_the_server(error: ClientError) -> NoReturn:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
    click.echo(f"error: {error}", err=True)
    hint = next((hint for kind, hint in HINTS.items() if isinstance(error, kind)), None)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    request_id = getattr(error, "request_id", None)
    if request_id:
        click.echo(f"request: {request_id}", err=True)
    sys.exit(code)


def home_of(*settings: str) -> None:
    """Make the folder that the defaults lie in, if one of them is in use."""
    if {*settings} & {DEFAULT_STORE, DEFAULT_KEYS}:
        HOME.mkdir(mode=0o700, exist_ok=True)


def print_rows(rows: Iterable[Any], columns: Sequence[str], *, as_json: bool) -> None:
    """Named tuples: as JSON lines with all their fields, or as a table of some of them."""
    if as_json:
        for row in rows:
            click.echo(json.dumps(row._asdict(), default=_as_text, ensure_ascii=False))
        return
    shown = [{name: getattr(row, name) for name in columns} for row in rows]
    for line in table(shown):
        click.echo(line)


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows in columns under their names."""
    cells = (
        [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)] if rows else []
    )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%SZ")
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "-" if value is None or value == "" else str(value)


def _as_text(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
