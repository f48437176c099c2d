"""One run of a worker, from its first claim to the last report.

A thread of its own claims. The one that began the run hears the signals and ends it, so that no
call that hangs holds up the end.
"""

import math
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from queuelog_core.client import Client, Job
from queuelog_core.clock import monotonic_seconds
from queuelog_core.worker.beats import Beats
from queuelog_core.worker.claims import Claims
from queuelog_core.worker.held import HeldJob
from queuelog_core.worker.reporting import LOST, Handler, hand_back, run_and_report
from queuelog_core.worker.signals import Bell
from queuelog_core.worker.slots import Slots

CLAIM_JOBS_MAX = 25
TICK_SECONDS = 0.25
REPORT_SECONDS = 5.0


class Settings(NamedTuple):
    """How a worker works. `handlers` come with the seconds that each may take."""

    client: Client
    handlers: Mapping[str, tuple[Handler, float]]
    beats: Beats
    concurrency: int
    grace_seconds: float
    poll_seconds_max: float
    monotonic: Callable[[], float]


class Run:
    """Works until `stop` rings or, as a drain, until nothing more can be done before `ends_at`.
    `hurry` ends the time that running jobs have after that."""

    def __init__(
        self,
        settings: Settings,
        stop: Bell,
        hurry: Bell,
        ends_at: float | None,
        ended: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._hurry = hurry
        self._ends_at = ends_at
        self._slots = Slots(settings.concurrency, self._run_one, ended)
        hasty = settings.client.with_budget(0.0)
        self._claims = Claims(hasty, stop, settings.poll_seconds_max, settings.monotonic, ends_at)
        self._failure: Exception | None = None

    def work(self) -> Mapping[str, int]:
        """How many jobs ended how. Raises what ended the claims, and Unreachable when a drain's
        time went by without any answer."""
        claiming = threading.Thread(target=self._claim_until_the_end, name="claims", daemon=True)
        claiming.start()
        while claiming.is_alive() and not self._stop.has_rung() and self._seconds_left() > 0:
            claiming.join(TICK_SECONDS)
        was_stopped = self._stop.has_rung()
        self._end(claiming, was_stopped=was_stopped)
        if self._failure is not None:
            raise self._failure
        unanswered = self._claims.error_if_never_answered()
        if unanswered is not None and not was_stopped:
            raise unanswered
        return self._slots.outcomes

    def _seconds_left(self) -> float:
        return math.inf if self._ends_at is None else self._ends_at - self._settings.monotonic()

    def _claim_until_the_end(self) -> None:
        try:
            while self._claim():
                pass
        except Exception as error:
            self._failure = error
        self._slots.shut()
        for job in [] if self._hurry.has_rung() else self._claims.repeat_unanswered():
            self._take(job)

    def _claim(self) -> bool:
        """Claim once and start what it got; False when nothing more is to be claimed."""
        free = self._slots.wait_for_a_free_one()
        left = self._seconds_left()
        types = [name for name, (_, most) in self._settings.handlers.items() if most <= left]
        if self._stop.has_rung() or not types:
            return False
        ended = self._slots.ended()
        claimed = self._claims.claim(types, min(free, CLAIM_JOBS_MAX))
        if claimed is None:
            return True
        for job in claimed.jobs:
            self._take(job)
        return bool(claimed.jobs) or self._wait(claimed.next_due_in_seconds, ended)

    def _wait(self, due_in: int | None, ended: int) -> bool:
        """Pause until something may be due; False when a drain has nothing more to wait for."""
        if self._ends_at is not None:
            # A job that has ended since the claim may have enqueued another, or be due again.
            if self._slots.wait_for_an_end(ended, self._claims.within_bounds(due_in)):
                return True
            if due_in is None or due_in >= self._seconds_left():
                return False
        self._claims.pause(due_in)
        return True

    def _take(self, job: Job) -> None:
        held = HeldJob(job)
        if self._stop.has_rung():
            self._slots.shut()
        beats = self._settings.beats
        beats.begin(held, self._settings.handlers[job.type][1], self._claims.asked_at)
        if not self._slots.start(held):
            beats.end(held)
            self._hand_back(held)

    def _run_one(self, held: HeldJob) -> str:
        handler, _ = self._settings.handlers[held.type]
        return run_and_report(self._settings.client, handler, held, self._settings.beats.end)

    def _hand_back(self, held: HeldJob) -> None:
        """In a thread of its own: each may have the whole time that is left."""
        threading.Thread(target=self._release, args=(held,), name="hand-back", daemon=True).start()

    def _release(self, held: HeldJob) -> None:
        client = self._settings.client.with_budget(REPORT_SECONDS)
        self._slots.count(held, LOST if held.lost else hand_back(client, held))

    def _end(self, claiming: threading.Thread, *, was_stopped: bool) -> None:
        """Claim no more, let jobs end, hand back the rest, and wait for reports under way: without
        them done work would be left to its lease."""
        now = self._settings.monotonic
        is_over = self._ends_at is not None and not was_stopped
        until = now() + (self._seconds_left() if is_over else self._settings.grace_seconds)
        self._stop.ring()
        while not self._hurry.has_rung() and now() < until:
            if self._slots.wait_for_all(TICK_SECONDS):
                break
        for held in self._slots.take_back():
            self._settings.beats.end(held)
            self._hand_back(held)
        # Threads are waited for by the real clock.
        give_up_at = monotonic_seconds() + REPORT_SECONDS
        claiming.join(REPORT_SECONDS)
        self._slots.wait_for_all(max(0.0, give_up_at - monotonic_seconds()))
        self._slots.give_up()
        self._slots.close()
