"""Listening to what is logged."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from queuelog_core.logs import JsonLines


@contextmanager
def listening(handler: logging.Handler, logger_name: str = "queuelog_core") -> Iterator[None]:
    """Everything below this logger goes to the handler too, at every level ("" is all)."""
    logger = logging.getLogger(logger_name)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield
    logger.removeHandler(handler)
    logger.setLevel(level)


class Lines(logging.Handler):
    """Warnings and worse, as the operator reads them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(JsonLines())
        self.lines: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))
