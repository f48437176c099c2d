"""The worker: claims jobs of the types it has handlers for, runs them in threads, reports."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from queuelog_core.client import Client
from queuelog_core.clock import monotonic_seconds
from queuelog_core.worker.beats import Beats
from queuelog_core.worker.reporting import Handler
from queuelog_core.worker.run import Run, Settings
from queuelog_core.worker.signals import Bell, on_signals

TIMEOUT_SECONDS = 60.0
LAMBDA_MARGIN_SECONDS = 5.0
_F = TypeVar("_F", bound=Handler)


class Drained(NamedTuple):
    """How many jobs ended how in a worker's hands. `lost` are those that were its own no longer, or
    whose report nobody answered."""

    completed: int = 0
    failed: int = 0
    released: int = 0
    lost: int = 0


class Worker:
    """Runs jobs until it is told to stop.

        worker = Worker()

        @worker.handler("email", timeout=60)
        def send(job): ...

        worker.run()

    Handlers run in `concurrency` threads. Without a client it makes one when it begins to work, so
    that its module can be imported where no settings are. Seconds everywhere.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        concurrency: int = 1,
        grace_seconds: float = 25.0,
        poll_seconds_max: float = 5.0,
        monotonic: Callable[[], float] = monotonic_seconds,
    ) -> None:
        self._client = client
        self._handlers: dict[str, tuple[Handler, float]] = {}
        self._concurrency = concurrency
        self._grace_seconds = grace_seconds
        self._poll_seconds_max = poll_seconds_max
        self._monotonic = monotonic
        self._stop = Bell()
        self._hurry = Bell()

    def handler(self, job_type: str, *, timeout: float = TIMEOUT_SECONDS) -> Callable[[_F], _F]:
        """Register a function for a type. After `timeout` seconds the job counts as failed."""

        def register(function: _F) -> _F:
            self._handlers[job_type] = (function, timeout)
            return function

        return register

    def run(self) -> Drained:
        """Work until SIGTERM, SIGINT or `stop`: then claim nothing more, give running jobs
        `grace_seconds` to end, and hand back the rest. A second signal hands it back at once, a
        third ends the process. Raises Refused when the first claim is refused."""
        return self._work(None, lambda _: None)

    def drain(
        self, budget_seconds: float, *, ended: Callable[[str], None] = lambda _: None
    ) -> Drained:
        """Work until nothing is due within the budget; claim only what can finish in it. `ended`
        is told each job's outcome, a field of Drained, from any thread but one at a time.

        Raises Refused when a claim is refused, and Unreachable when none was answered."""
        return self._work(self._monotonic() + budget_seconds, ended)

    def lambda_handler(self, _event: Any, context: Any) -> dict[str, int]:
        """The entry of a scheduled function: drain until its time is nearly up."""
        left = context.get_remaining_time_in_millis() / 1000
        return self.drain(max(0.0, left - LAMBDA_MARGIN_SECONDS))._asdict()

    @property
    def types(self) -> list[str]:
        """The types that it has handlers for."""
        return list(self._handlers)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Its handlers by type."""
        return {name: handler for name, (handler, _) in self._handlers.items()}

    @property
    def timeouts(self) -> Mapping[str, float]:
        """How many seconds each type's handler may take."""
        return {name: timeout for name, (_, timeout) in self._handlers.items()}

    @property
    def client(self) -> Client:
        """What it calls the server with. Raises ConfigError when it needs settings and has none."""
        if self._client is None:
            self._client = Client()
        return self._client

    @contextlib.contextmanager
    def using(self, client: Client) -> Iterator[None]:
        """While inside, `client` is this one: handlers that a test runs call the test's queue."""
        before, self._client = self._client, client
        try:
            yield
        finally:
            self._client = before

    @cached_property
    def _beats(self) -> Beats:
        return Beats(self.client.with_budget(0.0), self._monotonic)

    def stop(self) -> None:
        """End the run that goes on, or else the next one as soon as it begins; later ones work
        again. Safe from any thread and from a signal handler."""
        self._stop.ring()

    def _work(self, ends_at: float | None, ended: Callable[[str], None]) -> Drained:
        if not self._handlers:
            raise ValueError('the worker has no handlers: @worker.handler("email")')
        settings = Settings(
            self.client,
            self._handlers,
            self._beats,
            self._concurrency,
            self._grace_seconds,
            self._poll_seconds_max,
            self._monotonic,
        )
        run = Run(settings, self._stop, self._hurry, ends_at, ended)
        try:
            with on_signals(self.stop, self._hurry.ring):
                return Drained(**run.work())
        finally:
            # Each stop ends one run: one that comes before its run must not get lost either.
            self._stop, self._hurry = Bell(), Bell()
