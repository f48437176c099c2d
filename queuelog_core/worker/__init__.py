"""What runs jobs: see Worker."""

from queuelog_core.worker.held import HeldJob
from queuelog_core.worker.outcomes import Discard, Retry
from queuelog_core.worker.reporting import Handler
from queuelog_core.worker.worker import Drained, Worker

__all__ = ["Discard", "Drained", "Handler", "HeldJob", "Retry", "Worker"]
