"""A worker before the real application: its wire can be cut, its clocks move when they are told."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from queuelog_core.client import Client, NoAnswer, Request, Response, Transport
from queuelog_core.client.retries import Patience
from queuelog_core.http.in_process import in_process
from queuelog_core.worker import HeldJob, Worker
from queuelog_core.worker.signals import Bell
from tests.support.factories import FakeSeconds
from tests.support.http import Api

SOON = 10
"""Seconds that a test waits for another thread before it fails."""
Answer = Callable[[Request, Transport], Response]


def unheard(_request: Request, _send: Transport) -> Response:
    """The request never arrives."""
    raise NoAnswer("timeout")


def answer_lost(request: Request, send: Transport) -> Response:
    """The request is done, its answer does not come back."""
    send(request)
    raise NoAnswer("timeout")


def answer(status: int, code: str, **headers: str) -> Answer:
    """The server says this and does nothing."""
    body = json.dumps({"status": status, "code": code}).encode()
    return lambda _request, _send: Response(status, headers, body)


class Wire:
    """The application as a transport that notes every request and answers as planned."""

    def __init__(self, send: Transport) -> None:
        self._send = send
        self._planned: dict[str, list[Answer]] = defaultdict(list)
        self._changed = threading.Condition()
        self._under_way = 0
        self._is_cut = False
        self.requests: list[Request] = []

    def plan(self, verb: str, *answers: Answer) -> None:
        """Answer the next requests of this verb so."""
        self._planned[verb].extend(answers)

    def __call__(self, request: Request) -> Response:
        verb = request.path.rpartition("/")[2]
        with self._changed:
            if self._is_cut:
                raise NoAnswer("cut")
            self.requests.append(request)
            self._under_way += 1
            self._changed.notify_all()
            planned = self._planned[verb].pop(0) if self._planned[verb] else None
        try:
            return planned(request, self._send) if planned else self._send(request)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def cut(self) -> None:
        """For ever, once what is under way has its answer: a store must not be closed before."""
        with self._changed:
            self._is_cut = True
            assert self._changed.wait_for(lambda: not self._under_way, SOON)

    def sent(self, verb: str) -> list[Request]:
        with self._changed:
            return [request for request in self.requests if request.path.endswith(f"/{verb}")]

    def bodies(self, verb: str) -> list[Any]:
        return [json.loads(request.body) for request in self.sent(verb)]

    def wait_for(self, verb: str, number: int = 1) -> None:
        with self._changed:
            wanted = self._changed.wait_for(lambda: len(self.sent(verb)) >= number, SOON)
        assert wanted, f"{verb} was not sent {number} times"


class Seconds(FakeSeconds):
    """A monotonic clock that goes on by `step` whenever it is read."""

    step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Scene:
    """One application, one client with a worker's key, and the workers of a test."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.seconds = Seconds()
        self.wire = Wire(in_process(api.client.application))
        patience = Patience(60.0, self.seconds, self.advance, lambda: 1.0)
        self.client = Client("http://queue", "worker", transport=self.wire, patience=patience)
        self.pauses: list[float] = []
        self.pauses_max = 1

    def advance(self, seconds: float) -> None:
        self.seconds.now += seconds
        self.api.clock.advance(seconds)

    def worker(self, handler: Callable[..., Any] | None = None, **settings: Any) -> Worker:
        """A worker with this handler for emails; it stops at its pause number `pauses_max`."""
        worker = Worker(self.client, **{"monotonic": self.seconds, **settings})
        if handler:
            worker.handler("email")(handler)
        return worker

    def work(self, handler: Callable[..., Any], **settings: Any) -> None:
        """Run all emails that are due."""
        self.worker(handler, **settings).run()

    def bell(self) -> Bell:
        return _NoPause(self)


class _NoPause(Bell):
    """Time passes at once, and after enough pauses it rings."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    def wait(self, seconds: float) -> None:
        self._scene.pauses.append(seconds)
        self._scene.advance(seconds)
        if len(self._scene.pauses) >= self._scene.pauses_max:
            self.ring()


class Seen:
    """A worker for emails without settings, whose handler a test may replace, and what it ran."""

    def __init__(self) -> None:
        self.worker = Worker()
        self.jobs: list[HeldJob] = []
        self.handle: Callable[[HeldJob], Any] = lambda held: held.payload
        self.worker.handler("email")(self._run)

    def _run(self, held: HeldJob) -> Any:
        self.jobs.append(held)
        return self.handle(held)


def raising(error: BaseException) -> Callable[[Any], Any]:
    """A handler that raises it."""

    def handle(_: Any) -> None:
        raise error

    return handle
