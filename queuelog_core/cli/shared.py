"""What the commands share: errors in one line, and the folder that the defaults lie in."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from queuelog_core.config import DEFAULT_KEYS, DEFAULT_STORE
from queuelog_core.errors import ConfigError, StoreUnavailable

HOME = Path(".queuelog")


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the command with one line for what a user or an operator can mend."""
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


def home_of(*settings: str) -> None:
    """Make the folder that the defaults lie in, if one of them is in use."""
    if {*settings} & {DEFAULT_STORE, DEFAULT_KEYS}:
        HOME.mkdir(mode=0o700, exist_ok=True)
