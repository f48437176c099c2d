"""Sending until an answer comes or the time is spent.

Every call of the client is safe to repeat, so a lost answer, 429 and 502 to 504 are tried again,
with full jitter and never earlier than Retry-After says. So is a 500 of a gateway, whose function
had no room or whose authorizer failed: it lacks the request id that the API itself gives. 4xx and
any other 500 are answers.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from queuelog_core.client.errors import Unreachable
from queuelog_core.client.transport import NoAnswer, Request, Response, Transport
from queuelog_core.clock import monotonic_seconds

AGAIN = frozenset({429, 502, 503, 504})
FIRST_PAUSE_SECONDS = 0.25
PAUSE_SECONDS_MAX = 8.0


class Patience(NamedTuple):
    """How long to go on trying, and how time passes; tests hand in their own."""

    budget_seconds: float = 60.0
    monotonic: Callable[[], float] = monotonic_seconds
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


def send(transport: Transport, request: Request, patience: Patience) -> Response:
    """The answer, which may still be a 429 or 5xx when the budget is spent.

    Raises Unreachable when none came.
    """
    give_up_at = patience.monotonic() + patience.budget_seconds
    bound = FIRST_PAUSE_SECONDS
    while True:
        response, reason = None, ""
        try:
            response = transport(request)
        except NoAnswer as error:
            reason = str(error)
        if response is not None and not may_pass(
            response.status, response.headers.get("x-request-id")
        ):
            return response
        asked = 0.0 if response is None else retry_after_seconds(response.headers)
        pause = max(asked, bound * patience.random())
        if patience.monotonic() + pause >= give_up_at:
            if response is not None:
                return response
            raise Unreachable(f"{request.method} {request.path.partition('?')[0]}: {reason}")
        patience.sleep(pause)
        bound = min(bound * 2, PAUSE_SECONDS_MAX)


def may_pass(status: int, request_id: str | None) -> bool:
    """Whether the same request may be answered otherwise a moment later."""
    return status in AGAIN or (status == 500 and not request_id)


def retry_after_seconds(headers: Mapping[str, str]) -> float:
    """Seconds to wait; a date, which proxies may send, and nonsense count as none."""
    text = headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0.0
