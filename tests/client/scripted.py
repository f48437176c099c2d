"""A transport that answers as it is told, and a time that passes only in pauses."""

import json
from collections.abc import Callable
from typing import Any

from queuelog_core.client import Client, NoAnswer, Request, Response
from queuelog_core.client.retries import Patience
from tests.support.factories import FakeSeconds

JOB: dict[str, Any] = {
    "id": 7,
    "type": "email",
    "payload": {},
    "priority": "medium",
    "status": "running",
    "retry_count": 0,
    "max_retries": 3,
    "idempotency_key": None,
    "claimed_at": "2026-11-29T12:00:00.000Z",
    "worker_id": "mailer",
    "error": None,
    "created_at": "2026-11-29T12:00:00.000Z",
    "updated_at": "2026-11-29T12:00:00.000Z",
    "run_at": "2026-11-29T12:00:00.000Z",
    "attempt": 2,
    "lease_expires_at": "2026-11-29T12:05:00.000Z",
    "release_count": 0,
    "producer_id": "shop",
    "error_code": None,
    "result": None,
    "finished_at": None,
    "cancel_requested_at": None,
}

NUMBERS: dict[str, Any] = {"as_of": "2026-11-29T12:00:00.000Z", "types": {}, "name": "shop"}
"""What `stats` and `whoami` both take."""


def answer(status: int, document: Any = None, **headers: str) -> Response:
    """`document` as JSON; `retry_after` among `headers` stands for retry-after."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, named, json.dumps(document).encode())


class Scripted:
    """Gives its answers in turn, the last of them for ever. None is an answer that got lost."""

    def __init__(self, *answers: Response | None) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if found is None:
            raise NoAnswer("ConnectionError")
        return found


class Pauses:
    """A patience whose pauses are written down and take no time."""

    def __init__(self, draw: Callable[[], float] = lambda: 1.0) -> None:
        self.seconds = FakeSeconds()
        self.taken: list[float] = []
        self.draw = draw
        self.after_each: Callable[[], None] = lambda: None

    def patience(self, budget_seconds: float = 60.0) -> Patience:
        return Patience(budget_seconds, self.seconds, self._sleep, self.draw)

    def _sleep(self, seconds: float) -> None:
        self.taken.append(seconds)
        self.seconds.now += seconds
        self.after_each()


def scripted_client(
    transport: Scripted, pauses: Pauses | None = None, budget_seconds: float = 60.0
) -> Client:
    """A client of the script, with the key `the-key`."""
    patience = (pauses or Pauses()).patience(budget_seconds)
    return Client(key="the-key", transport=transport, patience=patience)
