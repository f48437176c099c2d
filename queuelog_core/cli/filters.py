"""Which jobs a command means: the options that list, tail and export share."""

import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import click

from queuelog_core.job import PRIORITIES, Status

_F = TypeVar("_F", bound=Callable[..., Any])


class Time(click.ParamType):  # type: ignore[type-arg]
    """A point in time in RFC 3339, with its zone."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        """See click.ParamType."""
        with contextlib.suppress(ValueError):
            found = datetime.fromisoformat(str(value))
            if found.tzinfo is not None:
                return found
        self.fail("looks like 2026-11-30T09:00:00Z", param, context)


_OPTIONS = (
    click.option("--status", type=click.Choice([status.value for status in Status])),
    click.option("--type", "job_type", metavar="TYPE"),
    click.option("--priority", type=click.Choice(list(PRIORITIES))),
    click.option("--producer", metavar="NAME"),
    click.option("--worker", metavar="NAME"),
    click.option("--created-after", type=Time(), help="That time included."),
    click.option("--created-before", type=Time(), help="That time not included."),
)


def filters(command: _F) -> _F:
    """Give a command the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wanted(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options as `Client.jobs` takes them."""
    names = {"job_type": "type", "producer": "producer_id", "worker": "worker_id"}
    return {names.get(name, name): value for name, value in asked.items()}
