"""The composition root: from settings to a queue."""

from queuelog_core.clock import SystemClock
from queuelog_core.config import Config
from queuelog_core.job_types import load_job_types
from queuelog_core.queue import Queue
from queuelog_core.stores import open_store


def open_queue(config: Config) -> Queue:
    """The queue that the settings describe. Raises ConfigError or StoreUnavailable."""
    job_types = load_job_types(config.job_types)
    return Queue(open_store(config.store, config.retention_days), job_types, SystemClock())
