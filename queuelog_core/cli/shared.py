"""What the commands share: options, questions, errors in one line, exit codes."""

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from queuelog_core.cli.screen import cell, say
from queuelog_core.client import (
    Client,
    ClientError,
    Conflict,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    Refused,
    ServerError,
    Unauthorized,
    Unreachable,
)
from queuelog_core.config import DEFAULT_KEYS, DEFAULT_STORE
from queuelog_core.errors import ConfigError, NoKey, StoreUnavailable

HOME = Path(".queuelog")
BUDGET_SECONDS = 10.0
"""How long one call is tried while somebody sits in front of it and waits."""
LONG_BUDGET_SECONDS = 60.0
"""And while it is one of many that should not end half done."""
FAILED, USAGE, NOT_FOUND, AUTH, CONFLICT, SERVER = range(1, 7)
INTERRUPTED = 130
# The first that fits: exit code and what to try. A refused body names its fields already.
_ENDS: Sequence[tuple[type[ClientError], int, str | None]] = (
    (NotFound, NOT_FOUND, "a job that the key may not see is not found either"),
    (Unauthorized, AUTH, "set QUEUELOG_API_KEY"),
    (Forbidden, AUTH, "on the server, queuelog keys list shows what each key may do"),
    (Conflict, CONFLICT, "queuelog jobs show ID tells the state that the job is in"),
    (ServerError, SERVER, "the server's log tells the cause; sending it again is safe"),
    (Unreachable, SERVER, "is QUEUELOG_URL right, and does the server run?"),
    (PayloadTooLarge, FAILED, "store it elsewhere and enqueue a reference"),
    (ClientError, FAILED, None),
)
_F = TypeVar("_F", bound=Callable[..., Any])
_JOB_ID = re.compile("[1-9][0-9]{0,15}")
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class JobId(click.ParamType):  # type: ignore[type-arg]
    """The number of a job, written as the API writes it."""

    name = "id"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        """See click.ParamType."""
        if not _JOB_ID.fullmatch(str(value)):
            self.fail("looks like 1234", param, context)
        return int(value)


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A length of time such as 90s, 30m, 12h or 7d, as seconds."""

    name = "duration"

    def __init__(self, days_max: int = 3650) -> None:
        self._days_max = days_max

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        """See click.ParamType."""
        match = _DURATION.fullmatch(str(value))
        if match is None:
            self.fail("looks like 90s, 30m, 12h or 7d", param, context)
        seconds = int(match.group(1)) * _UNIT_SECONDS[match.group(2)]
        if seconds > self._days_max * _UNIT_SECONDS["d"]:
            self.fail(f"is at most {self._days_max}d", param, context)
        return seconds


def json_option(help_text: str = "Print JSON lines.") -> Callable[[_F], _F]:
    """`--json`, for programs; every command has it."""
    return click.option("--json", "as_json", is_flag=True, help=help_text)


def only_with(option: str, is_given: bool, *others: str) -> None:
    """Refuse options that would do nothing without `option`."""
    context = click.get_current_context()
    for other in others:
        if not is_given and context.get_parameter_source(other) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{other} does nothing without {option}")


def somebody_is_there() -> bool:
    """Whether questions can be answered."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, yes: bool) -> None:
    """End the command unless somebody agrees; where nobody can be asked, only `--yes` does."""
    if yes:
        return
    if not somebody_is_there():
        raise click.UsageError("nobody can be asked here: say --yes")
    if not click.confirm(question, err=True):
        fail("nothing was changed")


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the command with one line for what a user or an operator can mend."""
    try:
        yield
    except ConfigError as error:
        fail(str(error), AUTH if isinstance(error, NoKey) else FAILED)
    except StoreUnavailable as error:
        fail(f"the store cannot be used: {error.reason}")
    except ClientError as error:
        sys.exit(_tell(error))
    except UnicodeEncodeError:  # no output raises it
        raise click.UsageError("an argument or a setting is not UTF-8") from None
    except TimeoutError as error:
        fail(str(error))
    except BrokenPipeError:
        raise  # click ends quietly when the reader of stdout is gone
    except OSError as error:
        words = error.strerror or str(error)
        fail(f"{error.filename}: {words}" if error.filename else words)


@contextlib.contextmanager
def calling(budget_seconds: float = BUDGET_SECONDS) -> Iterator[Client]:
    """A client from the settings, whose errors end the command in one line."""
    with one_line_errors(), Client(budget_seconds=budget_seconds) as client:
        yield client


def each(job_ids: Iterable[int], call: Callable[[int], None]) -> None:
    """Call for each job. One that is refused is told by its ID and stops no other, unless nobody
    answers any more; then the command ends like the first of them."""
    code = 0
    for job_id in job_ids:
        try:
            call(job_id)
        except ClientError as error:
            told = _tell(error, f"{job_id}: ")
            code = code or told
            if not isinstance(error, Refused | ServerError):
                break
    if code:
        sys.exit(code)


def fail(text: str, code: int = FAILED, *, hint: str | None = None) -> NoReturn:
    """Tell what went wrong and what to try, and end the command."""
    tell("error", text)
    if hint:
        tell("hint", hint)
    sys.exit(code)


def tell(name: str, words: str) -> None:
    """Say on one line of stderr what others may have worded."""
    say(f"{name}: {cell(' '.join(words.split()))}", err=True)


def _tell(error: ClientError, which: str = "") -> int:
    """Tell what went wrong, what to try and which request the log knows; returns the exit code."""
    code, hint = next((code, hint) for kind, code, hint in _ENDS if isinstance(error, kind))
    if isinstance(error, NotFound) and not _names_a_job():
        hint = "is QUEUELOG_URL right?"
    request = getattr(error, "request_id", None)
    for name, words in (("error", f"{which}{error}"), ("hint", hint), ("request", request)):
        if words:
            tell(name, words)
    return code


def _names_a_job() -> bool:
    asked = click.get_current_context().params
    return asked.get("job_id") is not None or bool(asked.get("job_ids"))


def home_of(*settings: str) -> None:
    """Make the folder that the defaults lie in, if one of them is in use."""
    if {*settings} & {DEFAULT_STORE, DEFAULT_KEYS}:
        HOME.mkdir(mode=0o700, exist_ok=True)
