"""Settings, read once at the start. The only module that reads the environment.

A wrong value stops the start and names its variable.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from queuelog_core.errors import ConfigError, NoKey

DEFAULT_STORE = "sqlite:///.queuelog/queuelog.db"
DEFAULT_KEYS = "file:.queuelog/keys.json"
DEFAULT_JOB_TYPES = "infra/job_types.toml"
DEFAULT_URL = "http://127.0.0.1:8080"
RETENTION_DAYS_MAX = 3650
LAMBDA_SECONDS_MAX = 900
_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)
_URL = re.compile(r"https?://[^\s/?#]+[^\s?#]*", re.ASCII)
_KEY = re.compile(r"[!-~]+")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class Config(NamedTuple):
    """What a server or a function runs with."""

    store: str
    keys: str
    job_types: Path
    retention_days: int
    log_level: str


class MaintainConfig(NamedTuple):
    """What the scheduled upkeep needs besides: `stage` names its metrics."""

    stage: str
    backups: Path


class DrainConfig(NamedTuple):
    """What the scheduled worker runs with. A job may take `job_seconds` of the whole; `bucket` and
    `sender` None: what handlers make goes into `folder`."""

    url: str
    key: str
    key_secret: str
    drain_seconds: int
    job_seconds: int
    folder: Path
    bucket: str | None
    sender: str | None


class ClientConfig(NamedTuple):
    """Where a client calls, and with which key."""

    url: str
    key: str


def load_config(environ: Mapping[str, str] | None = None) -> Config:
    """Read QUEUELOG_*. Raises ConfigError naming the variable that is wrong."""
    values = os.environ if environ is None else environ
    level = (values.get("QUEUELOG_LOG_LEVEL") or "INFO").upper()
    if level not in _LEVELS:
        raise ConfigError(f"QUEUELOG_LOG_LEVEL must be one of {', '.join(_LEVELS)}")
    return Config(
        store=values.get("QUEUELOG_STORE") or DEFAULT_STORE,
        keys=values.get("QUEUELOG_KEYS") or DEFAULT_KEYS,
        job_types=Path(values.get("QUEUELOG_JOB_TYPES") or DEFAULT_JOB_TYPES),
        retention_days=_days(values.get("QUEUELOG_RETENTION_DAYS") or "30"),
        log_level=level,
    )


def load_client_config(
    url: str | None, key: str | None, environ: Mapping[str, str] | None = None
) -> ClientConfig:
    """What was given, else QUEUELOG_URL and QUEUELOG_API_KEY. Raises ConfigError."""
    values = os.environ if environ is None else environ
    url = url or values.get("QUEUELOG_URL") or DEFAULT_URL
    key = key or values.get("QUEUELOG_API_KEY") or ""
    if not _URL.fullmatch(url) or not _has_a_port_that_may_be(url):
        raise ConfigError("QUEUELOG_URL looks like https://queue.example.com")
    if not key:
        raise NoKey("set QUEUELOG_API_KEY, or hand a key to the client")
    if not _KEY.fullmatch(key):
        raise ConfigError("QUEUELOG_API_KEY holds a space, a line break or another odd character")
    return ClientConfig(url.rstrip("/"), key)


def _has_a_port_that_may_be(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def load_maintain_config(environ: Mapping[str, str] | None = None) -> MaintainConfig:
    """Read QUEUELOG_STAGE and QUEUELOG_BACKUPS."""
    values = os.environ if environ is None else environ
    return MaintainConfig(
        stage=values.get("QUEUELOG_STAGE") or "local",
        backups=Path(values.get("QUEUELOG_BACKUPS") or ".queuelog/backups"),
    )


def load_drain_config(environ: Mapping[str, str] | None = None) -> DrainConfig:
    """Read what a stage says of its drain. Raises ConfigError naming the variable."""
    values = os.environ if environ is None else environ
    return DrainConfig(
        url=values.get("QUEUELOG_URL") or DEFAULT_URL,
        key=values.get("QUEUELOG_API_KEY") or "",
        key_secret=values.get("QUEUELOG_API_KEY_SECRET") or "",
        drain_seconds=_seconds("QUEUELOG_DRAIN_SECONDS", values),
        job_seconds=_seconds("QUEUELOG_DRAIN_JOB_SECONDS", values),
        folder=Path(values.get("QUEUELOG_FOLDER") or ".queuelog"),
        bucket=values.get("QUEUELOG_BUCKET") or None,
        sender=values.get("QUEUELOG_SENDER") or None,
    )


def _seconds(name: str, values: Mapping[str, str]) -> int:
    text = values.get(name) or ""
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= LAMBDA_SECONDS_MAX:
        raise ConfigError(f"{name} must be a whole number from 1 to {LAMBDA_SECONDS_MAX}")
    return int(text)


def _days(text: str) -> int:
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= RETENTION_DAYS_MAX:
        raise ConfigError(
            f"QUEUELOG_RETENTION_DAYS must be a whole number from 1 to {RETENTION_DAYS_MAX}"
        )
    return int(text)
