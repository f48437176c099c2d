"""The worker: claims jobs of the types it has handlers for, runs them in threads, reports."""

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from queuelog_core.client import Client
from queuelog_core.clock import monotonic_seconds
from queuelog_core.forks import begin_anew_in_children
from queuelog_core.worker.beats import Beats
from queuelog_core.worker.outcomes import is_whole
from queuelog_core.worker.reporting import Handler
from queuelog_core.worker.run import Run, Settings
from queuelog_core.worker.signals import Bell, on_signals

TIMEOUT_SECONDS = 60.0
LAMBDA_MARGIN_SECONDS = 5.0
_RUNS_LATER = (
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
)
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
    that its module can be imported where no settings are. Seconds everywhere. Raises ValueError for
    a setting that can never work.
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
        if not is_whole(concurrency) or concurrency < 1:
            raise ValueError(f"concurrency is a whole number, at least 1: {concurrency!r}")
        if not _is_number(grace_seconds) or not grace_seconds >= 0:
            raise ValueError(f"grace_seconds is a number, at least 0: {grace_seconds!r}")
        if not _is_number(poll_seconds_max) or not 0 < poll_seconds_max < math.inf:
            raise ValueError(f"poll_seconds_max is a finite number above 0: {poll_seconds_max!r}")
        self._client = client
        self._handlers: dict[str, tuple[Handler, float]] = {}
        self._concurrency = concurrency
        self._grace_seconds = grace_seconds
        self._poll_seconds_max = poll_seconds_max
        self._monotonic = monotonic
        self.begin_anew()
        begin_anew_in_children(self)

    def begin_anew(self) -> None:
        """Forget every `stop` that was asked for: one of the parent's ends no run of a child's."""
        self._stop, self._hurry = Bell(), Bell()

    def handler(self, job_type: str, *, timeout: float = TIMEOUT_SECONDS) -> Callable[[_F], _F]:
        """Register a function for a type. After `timeout` seconds the job counts as failed.

        Raises ValueError for a timeout that is not above 0, and TypeError for what runs nothing
        when it is called: coroutine functions and generators.
        """
        if not isinstance(job_type, str):
            raise TypeError('a handler is registered for a type: @worker.handler("email")')
        if not _is_number(timeout) or not timeout > 0:
            raise ValueError(f"timeout is a number above 0: {timeout!r}")

        def register(function: _F) -> _F:
            if not _runs_when_called(function):
                raise TypeError(
                    f"a handler is a plain function, no coroutine or generator: {job_type}"
                )
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

    @functools.cached_property
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
            self.begin_anew()


def _is_number(value: object) -> bool:
    return is_whole(value) or isinstance(value, float)


def _runs_when_called(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    if not callable(function):
        return False
    # Of an object the code is in its class.
    codes = function, type(function).__call__
    return not any(later(code) for code in codes for later in _RUNS_LATER)
