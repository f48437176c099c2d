"""Settings, read once at the start. The only module that reads the environment.

A wrong value stops the start and names its variable.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from queuelog_core.errors import ConfigError

DEFAULT_STORE = "sqlite:///.queuelog/queuelog.db"
DEFAULT_KEYS = "file:.queuelog/keys.json"
DEFAULT_JOB_TYPES = "infra/job_types.toml"
RETENTION_DAYS_MAX = 3650
_DAYS = re.compile(r"[0-9]{1,4}", re.ASCII)
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class Config(NamedTuple):
    """What a server or a function runs with."""

    store: str
    keys: str
    job_types: Path
    retention_days: int
    log_level: str


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


def _days(text: str) -> int:
    if not _DAYS.fullmatch(text) or not 1 <= int(text) <= RETENTION_DAYS_MAX:
        raise ConfigError(
            f"QUEUELOG_RETENTION_DAYS must be a whole number from 1 to {RETENTION_DAYS_MAX}"
        )
    return int(text)
