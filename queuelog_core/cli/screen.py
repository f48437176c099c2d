"""What people see: colours and progress on a terminal, plain text elsewhere, JSON lines on request.

The library that draws is an extra: without it a terminal is like any other output.
"""

import codecs
import contextlib
import errno
import io
import itertools
import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Row = Mapping[str, Any]
_STYLES = {
    "pending": "yellow",
    "running": "cyan",
    "completed": "green",
    "failed": "red",
    "expired": "red",
    "cancelled": "magenta",
    "released": "yellow",
}
_FREE_WORDS = frozenset({"type", "types", "name", "worker_id", "error_code", "error"})
"""Columns that fold on a narrow terminal before any other does."""
_FREE_WIDTH_MIN, _GAP = 3, 2


class _Closed(io.TextIOBase):
    """A stdout that nobody opened: what is asked for is lost, so that writing fails."""

    encoding = "utf-8"

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "stdout is closed")


def set_up_stdout() -> None:
    """Let no character end a command: one that stdout cannot encode is shown as an escape."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    elif isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("escaped", _escaped)
        sys.stdout.reconfigure(errors="escaped")


def go_on_without_stdout() -> None:
    """For commands that run what may print, and are of use though nobody reads it."""
    if isinstance(sys.stdout, _Closed):
        sys.stdout = None


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        # The name of a file goes out in the bytes that it came in.
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def print_rows(rows: Iterable[Any], names: Sequence[str], *, as_json: bool) -> None:
    """Named tuples: as JSON lines with all their fields, or as a table of some of them."""
    if as_json:
        for row in rows:
            click.echo(json_line(row._asdict()))
    else:
        print_table(columns(rows, names))


def columns(rows: Iterable[Any], names: Sequence[str]) -> list[Row]:
    """Some fields of named tuples, as rows of a table."""
    return [{name: getattr(row, name) for name in names} for row in rows]


def json_line(document: Row) -> str:
    """A document on one line, with times as the API writes them."""
    # JSON is UTF-8 to whoever reads it, and ASCII is that too.
    is_utf8 = codecs.lookup(getattr(sys.stdout, "encoding", None) or "ascii").name == "utf-8"
    text = json.dumps(document, default=_as_text, ensure_ascii=not is_utf8)
    # JSON itself leaves some that steer a terminal, or that a reader may take for a line break.
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    )


def print_table(rows: Sequence[Row]) -> None:
    """Rows in columns under their names."""
    console = _console(sys.stdout)
    if console is None:
        for line in _plain(rows):
            click.echo(line)
    else:
        console.print(_drawn(rows, console.width))


def say(text: object, *, err: bool = False) -> None:
    """Print a line, above the bar if there is one."""
    # Without the file, click would look for the stream behind the bar's and write across the bar.
    click.echo(text, file=sys.stderr if err else sys.stdout)


@contextlib.contextmanager
def progress(words: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while long work goes on, told of each step; nothing without a terminal."""
    console = _console(sys.stderr)
    if console is None:
        yield lambda _many: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    counted = "{task.completed}" if total is None else "{task.completed}/{task.total}"
    parts = (TextColumn(f"{words} {counted}"), BarColumn(), TimeElapsedColumn())
    console.soft_wrap = True  # what is printed above the bar stays as it is
    # What is piped must not be drawn on stderr between the bars.
    with (
        _ended_by_sigterm(),
        Progress(
            *parts, console=console, transient=True, redirect_stdout=_is_terminal(sys.stdout)
        ) as bar,
    ):
        line = bar.add_task(words, total=total)
        yield lambda many: bar.advance(line, many)


@contextlib.contextmanager
def live() -> Iterator[Callable[[Sequence[tuple[str, Sequence[Row]]]], None]]:
    """Draws tables with a title each in place of those before; one after another elsewhere."""
    console = _console(sys.stdout)
    if console is None:
        yield _print_titled
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    with _ended_by_sigterm(), Live(console=console, screen=True, auto_refresh=False) as screen:

        def draw(tables: Sequence[tuple[str, Sequence[Row]]]) -> None:
            parts: list[RenderableType] = []
            for title, rows in tables:
                parts += [Text(title, style="bold"), _drawn(rows, console.width), Text()]
            screen.update(Group(*parts), refresh=True)

        yield draw


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End like any command, which gives the terminal back as it was."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def looks(interval_seconds: float, rounds: int | None) -> Iterator[None]:
    """Once at once, then again and again after a pause: `rounds` times, or for ever."""
    yield
    for _ in itertools.count(2) if rounds is None else range(1, rounds):
        sys.stdout.flush()
        time.sleep(interval_seconds)
        yield


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()


def _console(stream: Any) -> "Console | None":
    if not _is_terminal(stream):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(file=stream, highlight=False)
    return None if console.is_dumb_terminal else console


def _drawn(rows: Sequence[Row], width_max: int) -> "RenderableType":
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    widths = _widths(rows)
    fixed = [width + _GAP for name, width in widths.items() if name not in _FREE_WORDS]
    # Where it is too narrow for that everything folds: an id that is cut is of no use.
    keeps = sum(fixed) + (len(widths) - len(fixed)) * (_FREE_WIDTH_MIN + _GAP) <= width_max
    for name in widths:
        table.add_column(name, overflow="fold", no_wrap=keeps and name not in _FREE_WORDS)
    for row in rows:
        table.add_row(*map(_styled, row.values()))
    return table


def _styled(value: object) -> "Text":
    from rich.text import Text

    shown = cell(value)
    return Text(shown, style=_STYLES.get(shown, ""))


def _plain(rows: Sequence[Row]) -> Iterator[str]:
    widths = _widths(rows)
    for row in [list(widths), *(map(cell, row.values()) for row in rows)] if rows else ():
        yield (" " * _GAP).join(map(str.ljust, row, widths.values())).rstrip()


def _widths(rows: Sequence[Row]) -> dict[str, int]:
    """How wide each column is, under its name."""
    names = rows[0] if rows else ()
    return {name: max(len(name), *(len(cell(row[name])) for row in rows)) for name in names}


def _print_titled(tables: Sequence[tuple[str, Sequence[Row]]]) -> None:
    for title, rows in tables:
        click.echo(title)
        print_table(rows)
        click.echo()


def cell(value: object) -> str:
    """A value on one line; what could steer the terminal is shown as an escape."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%SZ")
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = ",".join(value)
    elif isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = "-" if value is None or value == "" else str(value)
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _as_text(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
