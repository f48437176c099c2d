"""Logs: one JSON object a line on stderr, with ids, names, codes and durations, never a value.

Records carry their fields as `extra={"fields": {…}}`; the message is the name of the event. Of
other libraries' records only the logger's name is kept: their words may hold what a client sent.
"""

import logging
import sys
from typing import Any

from queuelog_core.clock import format_instant
from queuelog_core.documents import compact


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": format_instant(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "event": record.getMessage()
            if record.name.startswith("queuelog_core")
            else record.name,
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0]:
            line["cause"] = record.exc_info[0].__name__
        return compact(line)


def set_up_logging(level: str) -> None:
    """Send queuelog's own records to stderr; other libraries only from warnings up."""
    # No line tells these, and to find them out costs more than the rest of a record.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("queuelog_core").setLevel(level)
