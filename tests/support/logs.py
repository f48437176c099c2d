"""Listening to what is logged."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


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
