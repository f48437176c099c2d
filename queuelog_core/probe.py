"""Health: whether the store takes writes, asked at most once in ten seconds a process."""

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from queuelog_core.clock import monotonic_seconds
from queuelog_core.errors import StoreUnavailable

PROBE_EVERY_SECONDS = 10.0

_log = logging.getLogger(__name__)


class Health(NamedTuple):
    """The last answer of the store and its age in seconds."""

    is_writable: bool
    age_seconds: float


class Probe:
    """Runs `check`, which raises StoreUnavailable, and remembers what it said."""

    def __init__(
        self, check: Callable[[], None], monotonic: Callable[[], float] = monotonic_seconds
    ) -> None:
        self._check = check
        self._monotonic = monotonic
        self._running = threading.Lock()
        self._last: tuple[bool, float] | None = None

    def health(self) -> Health:
        """A fresh answer when the last one is too old and nobody is asking, else the last one."""
        last = self._last
        if last is not None and self._monotonic() - last[1] < PROBE_EVERY_SECONDS:
            return Health(last[0], self._monotonic() - last[1])
        # The first callers have no last answer to be content with and wait for it.
        if self._running.acquire(blocking=last is None):
            try:
                return self._ask(last)
            finally:
                self._running.release()
        assert last is not None
        return Health(last[0], self._monotonic() - last[1])

    def _ask(self, seen: tuple[bool, float] | None) -> Health:
        if self._last is seen:
            try:
                self._check()
                is_writable = True
            except StoreUnavailable as error:
                fields = {"code": error.code, "cause": error.reason}
                _log.error("store-error", extra={"fields": fields})
                is_writable = False
            self._last = (is_writable, self._monotonic())
        assert self._last is not None
        return Health(self._last[0], self._monotonic() - self._last[1])
