"""The scheduled worker. See queuelog_core/drain.py."""

from functions.job_handlers import handlers
from queuelog_core.drain import drain_with

handler = drain_with(handlers)
