"""The scheduled upkeep of a deployment: leases, retention, the numbers for alarms, backups."""

import functools
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from queuelog_core import backups
from queuelog_core.bootstrap import open_queue
from queuelog_core.clock import SystemClock
from queuelog_core.config import load_config, load_maintain_config
from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.logs import set_up_logging
from queuelog_core.metrics import metric_line, queue_metrics
from queuelog_core.queue import Queue
from queuelog_core.upkeep import run_upkeep

_log = logging.getLogger(__name__)


def handler(event: Any, _context: Any) -> dict[str, Any]:
    """The Lambda entry: one pass, or for the events {"backup": true}, {"list_backups": true} and
    {"restore": NAME} what they say.

    What fails is logged and answered with `ok` false: the next run tries again, and an alarm
    watches for runs that bring no numbers.
    """
    try:
        _start()
        if isinstance(event, dict) and _is_about_backups(event):
            return look_after_backups(event, _tell)
        return keep_up(_queue(), _tell)
    except Exception as error:
        _log.error("maintain-failed", extra={"fields": {"cause": _cause(error)}})
        return {"ok": False}


def keep_up(queue: Queue, tell: Callable[[str], object]) -> dict[str, Any]:
    """One pass of the upkeep, and its numbers as a metric line."""
    done = run_upkeep(queue, load_config().retention_days * 86_400)
    # Also of a pass that was cut short.
    queue.store.flush()
    if done is None:
        return {"ok": False}
    now = queue.clock()
    values = {**queue_metrics(queue.store.stats(now, None), now), "UpkeepRuns": 1}
    values |= {"RecoveredLeases": done.recovered, "PurgedJobs": done.purged}
    tell(metric_line(load_maintain_config().stage, values, now))
    return {"ok": True, **done._asdict()}


def look_after_backups(event: Mapping[str, Any], tell: Callable[[str], object]) -> dict[str, Any]:
    """What an event asks of the backups."""
    store, config = load_config().store, load_maintain_config()
    backups.check_is_file(store)
    if "restore" in event:
        aside = backups.restore(store, config.backups, str(event["restore"]), SystemClock()())
        # What this process still has open is the file of before.
        _queue.cache_clear()
        return {"ok": True, "aside": aside}
    if "list_backups" in event:
        return {"ok": True, "backups": backups.names(config.backups)}
    now = _queue().clock()
    made = backups.back_up(store, config.backups, now)
    tell(metric_line(config.stage, {"Backups": 1}, now))
    return {"ok": True, "backup": made}


def _is_about_backups(event: Mapping[str, Any]) -> bool:
    asked = (event.get(name) for name in ("backup", "list_backups"))
    return "restore" in event or any(value is True for value in asked)


def _cause(error: Exception) -> str:
    if isinstance(error, StoreUnavailable):
        return error.reason
    return str(error) if isinstance(error, ConfigError | OSError) else type(error).__name__


@functools.cache
def _start() -> None:
    set_up_logging("INFO")  # so that a setting that is wrong is told in our form as well
    set_up_logging(load_config().log_level)


@functools.cache
def _queue() -> Queue:
    return open_queue(load_config())


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
