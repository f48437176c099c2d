"""A client without a server, for tests of the worker's loop."""

import json
from collections.abc import Callable
from typing import Any

from queuelog_core.client import Client, ClientError, Job
from queuelog_core.worker import Handler, Worker

Claimed = Job | ClientError | float
Call = tuple[Any, ...]


class FakeClient(Client):
    """Hands out jobs, takes reports, and answers each call with the next of its answers.

    `claims` holds jobs, errors, and seconds to wait when nothing is due."""

    def __init__(self) -> None:
        self.claims: list[Claimed] = []
        self.answers: list[ClientError | None] = []
        self.calls: list[Call] = []
        self.asked_for: list[list[str]] = []
        self.on_drained: Callable[[], None] = lambda: None

    def claim(self, types: Any) -> tuple[Job | None, float]:
        self.asked_for.append(list(types))
        if len(self.claims) < 2:
            self.on_drained()
        claimed = self.claims.pop(0)
        if isinstance(claimed, ClientError):
            raise claimed
        return (None, claimed) if isinstance(claimed, float) else (claimed, 0.0)

    def complete(self, job: Job, result: Any) -> None:
        self._send("complete", job, result)

    def fail(self, job: Job, error: str, error_code: str) -> None:
        self._send("fail", job, error, error_code)

    def _send(self, verb: str, job: Job, *told: Any) -> None:
        # What UTF-8 cannot carry breaks in the real client too, before anything is sent.
        json.dumps(told, ensure_ascii=False).encode()
        self.calls.append((verb, job["id"], job["attempt"], *told))
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer


def a_job(job_id: int = 1, job_type: str = "email") -> Job:
    return {"id": job_id, "attempt": 2, "type": job_type, "payload": {"to": "ada"}}


def raising(error: Exception) -> Handler:
    def handle(_: Job) -> None:
        raise error

    return handle


def work(
    client: FakeClient, handler: Handler, *claims: Claimed, poll_seconds_max: float = 0
) -> list[Call]:
    """Let a worker go through the claims (one job, if none are given); the reports it sent."""
    worker = Worker(client, {"email": handler, "pdf": handler}, poll_seconds_max=poll_seconds_max)
    client.claims = list(claims) or [a_job()]
    client.on_drained = worker.stop
    worker.run()
    return client.calls
