"""The claims of one run: sent again until they are answered, with pauses between them."""

import contextlib
import logging
import math
import random
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

from queuelog_core.client import Claimed, Client, Job, Refused, Unreachable
from queuelog_core.worker.signals import Bell

PAUSE_SECONDS_MIN = 0.1
PAUSE_SECONDS_MAX = 8.0
RETRY_AFTER_SECONDS_MAX = 60.0
_DOUBLINGS_MAX = 5
_log = logging.getLogger(__name__)


class _Ask(NamedTuple):
    """A claim that may still be on its way: sent again it must be the very same."""

    types: Sequence[str]
    limit: int
    key: str
    first_sent_at: float


class Claims:
    """Claims, one at a time. `client` should give up on a call quickly.

    `asked_at` is when the one that was answered last was first sent: the leases that it got have
    begun since.
    """

    def __init__(
        self,
        client: Client,
        stop: Bell,
        poll_seconds_max: float,
        monotonic: Callable[[], float],
        ends_at: float | None,
    ) -> None:
        self.asked_at = 0.0
        self._client = client
        self._stop = stop
        self._poll_seconds_max = poll_seconds_max
        self._monotonic = monotonic
        self._ends_at = ends_at
        self._ask: _Ask | None = None
        self._failures = 0
        self._was_answered = False
        self._last_error: Unreachable | None = None

    def claim(self, types: Sequence[str], limit: int) -> Claimed | None:
        """What a claim got; None, after a pause, when it is to be tried again.

        A claim without an answer is sent again just as it was: it may have got jobs. Raises Refused
        when nothing can be expected of another try: in a drain, or before any claim was answered.
        """
        ask = self._ask or _Ask(types, limit, uuid.uuid4().hex, self._monotonic())
        self._ask = ask
        try:
            return self._send(ask)
        except Unreachable as error:
            self._wait_for_an_answer(error)
        except Refused as error:
            self._ask, self._failures = None, 0
            if self._ends_at is not None or not self._was_answered:
                raise
            _log.error("claim-refused", extra={"fields": {"code": error.code, "why": str(error)}})
            self.pause(None)
        return None

    def repeat_unanswered(self) -> list[Job]:
        """The jobs of a claim whose answer was lost, which would wait for their leases."""
        if self._ask is not None:
            with contextlib.suppress(Exception):
                return self._send(self._ask).jobs
        return []

    def error_if_never_answered(self) -> Unreachable | None:
        """What to tell of a run that has claimed and got no answer at all."""
        if self._was_answered or self._ask is None:
            return None
        return self._last_error or Unreachable("no answer within the budget")

    def pause(self, seconds: float | None) -> None:
        """Until something may be due, or the worker is to stop."""
        # Jitter keeps workers that were started together from asking together.
        self._stop.wait(self.within_bounds(seconds) * random.uniform(0.8, 1.2))

    def within_bounds(self, seconds: float | None) -> float:
        """How long to wait for something that is due in so many seconds, None: not foreseeable."""
        if seconds is None:
            return self._poll_seconds_max
        return min(max(seconds, PAUSE_SECONDS_MIN), self._poll_seconds_max)

    def _send(self, ask: _Ask) -> Claimed:
        claimed = self._client.claim(ask.types, limit=ask.limit, idempotency_key=ask.key)
        self.asked_at = ask.first_sent_at
        self._ask, self._failures, self._was_answered = None, 0, True
        return claimed

    def _wait_for_an_answer(self, error: Unreachable) -> None:
        self._last_error = error
        if not self._failures:
            _log.warning("no-answer", extra={"fields": {"why": str(error)}})
        self._failures = min(self._failures + 1, _DOUBLINGS_MAX)
        pause = min(0.25 * 2**self._failures, PAUSE_SECONDS_MAX) * random.uniform(0.5, 1.0)
        asked = min(error.retry_after_seconds, RETRY_AFTER_SECONDS_MAX)
        left = math.inf if self._ends_at is None else self._ends_at - self._monotonic()
        self._stop.wait(max(0.0, min(max(asked, pause), left)))
