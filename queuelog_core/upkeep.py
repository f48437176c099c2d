"""The upkeep: settles leases that no claim settles and deletes what is past its retention."""

import logging
import threading
from typing import NamedTuple

from queuelog_core.errors import StoreUnavailable
from queuelog_core.queue import Queue

EVERY_SECONDS = 5.0
RECOVERED_MAX = 1000
PURGED_MAX = 10_000

_log = logging.getLogger(__name__)


class Upkept(NamedTuple):
    """What a pass did."""

    recovered: int
    purged: int


def run_upkeep(queue: Queue, retention_seconds: int) -> Upkept | None:
    """One pass; what goes wrong is logged and left for the next one: then there is no result."""
    try:
        recovered = queue.leases.recover(RECOVERED_MAX)
        purged = queue.purge(retention_seconds, PURGED_MAX)
    except Exception as error:
        cause = error.reason if isinstance(error, StoreUnavailable) else type(error).__name__
        _log.error("upkeep-failed", extra={"fields": {"cause": cause}})
        return None
    if recovered or purged:
        _log.info("upkeep", extra={"fields": {"recovered": recovered, "purged": purged}})
    return Upkept(recovered, purged)


def keep_up(queue: Queue, retention_seconds: int, stop: threading.Event) -> None:
    """A pass every five seconds until `stop` is set."""
    while not stop.wait(EVERY_SECONDS):
        run_upkeep(queue, retention_seconds)
