"""The type registry: the allowlist of job types and the policy of each, read from one TOML file.

    [types.email]
    max_retries = 5
    lease_seconds = 300
    max_runtime_seconds = 3600
    backoff = {kind = "exponential", base_seconds = 2, max_seconds = 3600}

A type without settings has 3 retries, a lease of 300 s and no backoff. `accept = false` retires a
type: nothing new is enqueued, what is there still runs.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from queuelog_core.errors import ConfigError
from queuelog_core.identity import NAME
from queuelog_core.job import PRIORITIES, Priority

RETRIES_MAX = 25
RUNTIME_SECONDS_MAX = 43_200
BACKOFF_SECONDS_MAX = 31_536_000
_JITTER = 0.1
_T = TypeVar("_T")


class BackoffKind(StrEnum):
    NONE = "none"
    FIXED = "fixed"
    EXPONENTIAL = "exponential"


class Backoff(NamedTuple):
    """How long a failed job waits before its next run."""

    kind: BackoffKind = BackoffKind.NONE
    base_seconds: int = 0
    max_seconds: int = 0

    def delay(self, retry: int, random: float) -> int:
        """Milliseconds before the given retry (1, 2, …), with up to a tenth of jitter on top.

        Never less than the plain backoff and never more than the cap; `random` is in [0, 1).
        """
        if self.kind is BackoffKind.NONE:
            return 0
        cap = self.max_seconds * 1000
        base = self.base_seconds * 1000
        if self.kind is BackoffKind.EXPONENTIAL:
            # Past this shift the cap rules anyway; a shift by 10,000 would build a huge number.
            base <<= min(retry - 1, cap.bit_length())
        return min(math.ceil(base * (1 + _JITTER * random)), cap)


class Policy(NamedTuple):
    """What holds for the jobs of one type."""

    max_retries: int = 3
    lease_seconds: int = 300
    max_runtime_seconds: int = 3600
    backoff: Backoff = Backoff()
    priority_max: Priority = Priority.CRITICAL
    accept: bool = True


class JobTypes(Mapping[str, Policy]):
    """The registry: type name to policy, retired types included."""

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        self._policies = dict(policies)
        self._default = Policy()

    def __getitem__(self, name: str) -> Policy:
        return self._policies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)

    def policy(self, name: str) -> Policy:
        """The policy of a type; the default one for jobs whose type has left the file."""
        return self._policies.get(name, self._default)


def load_job_types(path: Path) -> JobTypes:
    """Read the registry. Raises ConfigError naming the file and what is wrong in it."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
        tables = document.pop("types", None)
        if document or not isinstance(tables, dict) or not tables:
            raise ValueError("it needs [types.NAME] tables and nothing else")
        return JobTypes({name: _policy(name, table) for name, table in tables.items()})
    except FileNotFoundError as error:
        raise ConfigError(f"{path} does not exist: write one, or set QUEUELOG_JOB_TYPES") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not a type registry: {error}") from error


def _policy(name: str, table: Any) -> Policy:
    if not NAME.fullmatch(name):
        raise ValueError(f"a type's name looks like email or report.weekly, not {name!r}")
    if not isinstance(table, dict):
        raise ValueError(f"[types.{name}] is not a table")
    settings = _Settings(f"types.{name}", table)
    runtime = settings.integer("max_runtime_seconds", 1, RUNTIME_SECONDS_MAX, 3600)
    policy = Policy(
        max_retries=settings.integer("max_retries", 0, RETRIES_MAX, 3),
        lease_seconds=settings.integer("lease_seconds", 1, runtime, min(300, runtime)),
        max_runtime_seconds=runtime,
        backoff=_backoff(name, settings.take("backoff", dict, {})),
        priority_max=PRIORITIES[settings.choice("priority_max", list(PRIORITIES), "critical")],
        accept=settings.take("accept", bool, True),
    )
    settings.finish()
    return policy


def _backoff(name: str, table: dict[str, Any]) -> Backoff:
    if not table:
        return Backoff()
    settings = _Settings(f"types.{name}.backoff", table)
    kind = BackoffKind(settings.choice("kind", list(BackoffKind), "exponential"))
    base = settings.integer("base_seconds", 0, BACKOFF_SECONDS_MAX, 1)
    backoff = Backoff(
        kind=kind,
        base_seconds=base,
        max_seconds=settings.integer("max_seconds", base, BACKOFF_SECONDS_MAX, max(base, 3600)),
    )
    settings.finish()
    return backoff


class _Settings:
    """A TOML table whose every entry must be taken, each with its type and range."""

    def __init__(self, where: str, table: dict[str, Any]) -> None:
        self._where = where
        self._rest = dict(table)

    def take(self, key: str, kind: type[_T], default: _T) -> _T:
        value = self._rest.pop(key, default)
        if type(value) is not kind:
            raise ValueError(f"{self._where}.{key} must be of type {kind.__name__}")
        return value

    def integer(self, key: str, least: int, most: int, default: int) -> int:
        value = self.take(key, int, default)
        if not least <= value <= most:
            raise ValueError(f"{self._where}.{key} must be from {least} to {most}")
        return value

    def choice(self, key: str, choices: list[str], default: str) -> str:
        value = self.take(key, str, default)
        if value not in choices:
            raise ValueError(f"{self._where}.{key} must be one of {', '.join(choices)}")
        return value

    def finish(self) -> None:
        if self._rest:
            raise ValueError(f"{self._where} has unknown settings: {', '.join(self._rest)}")
