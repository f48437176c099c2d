"""The worker: claims jobs of the types it has handlers for, runs them in threads, reports."""

import logging
import math
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from queuelog_core.client import Claimed, Client, Refused, Unreachable
from queuelog_core.clock import monotonic_seconds
from queuelog_core.worker.beats import Beats
from queuelog_core.worker.held import HeldJob
from queuelog_core.worker.reporting import LOST, Handler, hand_back, release, run_and_report
from queuelog_core.worker.signals import Bell, on_signals
from queuelog_core.worker.slots import Slots

TIMEOUT_SECONDS = 60.0
CLAIM_JOBS_MAX = 25
PAUSE_SECONDS_MIN = 0.1
PAUSE_SECONDS_MAX = 8.0
TICK_SECONDS = 0.25
REPORT_SECONDS = 5.0
LAMBDA_MARGIN_SECONDS = 5.0
_F = TypeVar("_F", bound=Handler)
_log = logging.getLogger(__name__)


class Drained(NamedTuple):
    """How many jobs ended how in a worker's hands. `lost` are those that were its own no longer, or
    whose report nobody answered."""

    completed: int = 0
    failed: int = 0
    released: int = 0
    lost: int = 0


class _Ask(NamedTuple):
    """A claim that may still be on its way: sent again it must be the very same."""

    types: Sequence[str]
    limit: int
    key: str


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
        self._given_client = client
        self._handlers: dict[str, tuple[Handler, float]] = {}
        self._concurrency = concurrency
        self._grace_seconds = grace_seconds
        self._poll_seconds_max = poll_seconds_max
        self._monotonic = monotonic
        self._stop = Bell()
        self._hurry = Bell()
        self._ask: _Ask | None = None
        self._failures = 0

    def handler(self, job_type: str, *, timeout: float = TIMEOUT_SECONDS) -> Callable[[_F], _F]:
        """Register a function for a type. After `timeout` seconds the job counts as failed."""

        def register(function: _F) -> _F:
            self._handlers[job_type] = (function, timeout)
            return function

        return register

    def run(self) -> Drained:
        """Work until SIGTERM, SIGINT or `stop`: then claim nothing more, give running jobs
        `grace_seconds` to end, and hand back the rest. A second signal hands it back at once."""
        with on_signals(self.stop, self._hurry.ring):
            return self._work(None, lambda _: None)

    def drain(
        self, budget_seconds: float, *, ended: Callable[[str], None] = lambda _: None
    ) -> Drained:
        """Work until nothing is due within the budget; claim only what can finish in it. `ended`
        is told each job's outcome, a field of Drained, from any thread but one at a time."""
        with on_signals(self.stop, self._hurry.ring):
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

    @cached_property
    def client(self) -> Client:
        """What it calls the server with. Raises ConfigError when it needs settings and has none."""
        return self._given_client or Client()

    @cached_property
    def _hasty(self) -> Client:
        return self.client.with_budget(0.0)

    @cached_property
    def _beats(self) -> Beats:
        return Beats(self._hasty, self._monotonic)

    def stop(self) -> None:
        """Claim nothing more. Safe from any thread and from a signal handler."""
        self._stop.ring()

    def _work(self, ends_at: float | None, ended: Callable[[str], None]) -> Drained:
        if not self._handlers:
            raise ValueError('the worker has no handlers: @worker.handler("email")')
        # Made before anything is asked for: without settings it ends here.
        beats = self._beats
        slots = Slots(self._concurrency, self._run_one, ended)
        try:
            while not self._stop.has_rung():
                types = self._types(ends_at)
                if not types:
                    break
                free = slots.free(TICK_SECONDS)
                if not free or self._stop.has_rung():
                    continue
                claimed = self._claim(types, free)
                if claimed is None:
                    continue
                for job in claimed.jobs:
                    self._take(slots, HeldJob(job))
                if not claimed.jobs and not self._wait(claimed, slots, ends_at):
                    break
        finally:
            self._hand_back_unanswered(slots)
            self._finish(slots, ends_at)
            for held in slots.take_back():
                beats.end(held)
                slots.count(LOST if held.lost else hand_back(self.client, held))
            # An end without these reports would leave done work to its lease.
            slots.wait_for_all(REPORT_SECONDS)
            for _ in range(slots.give_up()):
                slots.count(LOST)
            slots.close()
        return Drained(**slots.outcomes)

    def _types(self, ends_at: float | None) -> list[str]:
        """The types whose handlers can finish in time."""
        left = math.inf if ends_at is None else ends_at - self._monotonic()
        return [name for name, (_, timeout) in self._handlers.items() if timeout <= left]

    def _claim(self, types: Sequence[str], free: int) -> Claimed | None:
        """What a claim got; None, after a pause, when there was no answer or a refusal.

        A claim without an answer is sent again just as it was: it may have got jobs.
        """
        ask = self._ask or _Ask(types, min(free, CLAIM_JOBS_MAX), uuid.uuid4().hex)
        self._ask = ask
        try:
            claimed = self._hasty.claim(ask.types, limit=ask.limit, idempotency_key=ask.key)
        except Unreachable as error:
            self._failures += 1
            pause = min(0.25 * 2**self._failures, PAUSE_SECONDS_MAX) * random.uniform(0.5, 1.0)
            self._stop.wait(max(error.retry_after_seconds, pause))
            return None
        except Refused as error:
            _log.error("claim-refused", extra={"fields": {"code": error.code, "why": str(error)}})
            self._ask = None
            self._pause(self._poll_seconds_max)
            return None
        self._ask, self._failures = None, 0
        return claimed

    def _take(self, slots: Slots, held: HeldJob) -> None:
        if self._stop.has_rung():
            # The answer came after the request to stop.
            slots.count(release(self.client, held))
            return
        self._beats.begin(held, self._handlers[held.type][1])
        slots.start(held)

    def _run_one(self, held: HeldJob) -> str:
        handler, _ = self._handlers[held.type]
        return run_and_report(self.client, handler, held, self._beats.end)

    def _wait(self, claimed: Claimed, slots: Slots, ends_at: float | None) -> bool:
        """Pause until something may be due; False when a drain has nothing more to wait for."""
        due_in = claimed.next_due_in_seconds
        if ends_at is None:
            self._pause(self._poll_seconds_max if due_in is None else due_in)
            return True
        if not slots.are_idle():
            slots.wait_for_one(TICK_SECONDS)
            return True
        if due_in is None or self._monotonic() + due_in >= ends_at:
            return False
        self._pause(due_in)
        return True

    def _pause(self, seconds: float) -> None:
        # Jitter keeps workers that were started together from asking together.
        bounded = min(max(seconds, PAUSE_SECONDS_MIN), self._poll_seconds_max)
        self._stop.wait(bounded * random.uniform(0.8, 1.2))

    def _hand_back_unanswered(self, slots: Slots) -> None:
        """A claim whose answer was lost may have got jobs, which would wait for their leases."""
        if self._ask is not None and (claimed := self._claim(self._ask.types, self._ask.limit)):
            for job in claimed.jobs:
                slots.count(release(self.client, HeldJob(job)))

    def _finish(self, slots: Slots, ends_at: float | None) -> None:
        now = self._monotonic()
        until = now + self._grace_seconds if ends_at is None or self._stop.has_rung() else ends_at
        while not self._hurry.has_rung() and self._monotonic() < until:
            if slots.wait_for_all(TICK_SECONDS):
                return
