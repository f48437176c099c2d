"""The scheduled worker of a deployment: claims over HTTPS with a worker's key until its time is up.

It knows no store and lies in no VPC; what runs the jobs is handed in.
"""

import functools
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from queuelog_core.client import Client
from queuelog_core.config import DrainConfig, load_config, load_drain_config
from queuelog_core.errors import ConfigError
from queuelog_core.logs import set_up_logging
from queuelog_core.worker import Handler, Worker

_log = logging.getLogger(__name__)


class LoadHandlers(Protocol):
    """Job type to handler; without a bucket or a sender they write into the folder."""

    def __call__(
        self, folder: Path, *, bucket: str | None = None, sender: str | None = None
    ) -> Mapping[str, Handler]: ...


def drain_with(load_handlers: LoadHandlers) -> Callable[[Any, Any], dict[str, int]]:
    """The Lambda handler that drains with these job handlers."""
    return functools.partial(
        drain, functools.lru_cache(1)(functools.partial(_worker, load_handlers))
    )


def drain(worker: Callable[[str], Worker], _event: Any, _context: Any) -> dict[str, int]:
    """Work for the stage's own number of seconds: emulators lie about the time that is left."""
    config = load_drain_config()
    done = worker(_key(config)).drain(config.drain_seconds)._asdict()
    _log.info("drained", extra={"fields": done})
    return done


def _worker(load_handlers: LoadHandlers, key: str) -> Worker:
    set_up_logging(load_config().log_level)
    config = load_drain_config()
    worker = Worker(Client(config.url, key))
    found = load_handlers(config.folder, bucket=config.bucket, sender=config.sender)
    for name, run in found.items():
        worker.handler(name, timeout=config.job_seconds)(run)
    return worker


def _key(config: DrainConfig) -> str:
    """The key itself, which only this function's role may read; anew for each run, for a warm
    function outlives a key that is rotated."""
    if config.key:
        return config.key
    if not config.key_secret:
        raise ConfigError("set QUEUELOG_API_KEY_SECRET to the name of a secret with a worker's key")
    from queuelog_core.key_registry.secret import secret_text

    return secret_text(config.key_secret)
