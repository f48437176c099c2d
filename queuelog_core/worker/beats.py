"""Heartbeats: one thread that keeps the leases of all running jobs alive, until each one ends.

A beat that finds no answer is tried again soon; a job is lost only when the server says so, or when
its handler overstays: then the handler is told, and the failure reported until somebody answers.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from queuelog_core.client import Client, Conflict, Job, Refused
from queuelog_core.clock import monotonic_seconds
from queuelog_core.forks import begin_anew_in_children
from queuelog_core.worker.held import HeldJob

AGAIN_SECONDS = 2.0
BEATS_APART_SECONDS = 0.25
TIMEOUT_CODE = "timeout"
_log = logging.getLogger(__name__)


class Beat:
    """When a job is looked at next, when its lease ends, and when its handler has overstayed."""

    def __init__(self, held: HeldJob, now: float, timeout_seconds: float, since: float) -> None:
        self.held = held
        self.lease_seconds = max(1, round(_lease_seconds(held.job)))
        self.lease_ends_at = since + self.lease_seconds
        self.ends_at = now + timeout_seconds
        self.timeout_seconds = timeout_seconds
        self.at = min(max(now, since + self.lease_seconds / 3), self.ends_at)


class Beats:
    """Keeps leases alive. `client` should give up on a call quickly: others wait for their beat."""

    def __init__(self, client: Client, monotonic: Callable[[], float] = monotonic_seconds) -> None:
        self._client = client
        self._monotonic = monotonic
        self.begin_anew()
        begin_anew_in_children(self)

    def begin_anew(self) -> None:
        """Keep nothing, with a lock and a thread of its own; so it is in a forked process too."""
        self._changed = threading.Condition()
        self._beats: dict[HeldJob, Beat] = {}
        self._thread: threading.Thread | None = None

    def begin(self, held: HeldJob, timeout_seconds: float, since: float) -> None:
        """Keep this job until `end`. Its handler's time begins now; its lease may have begun at
        `since`, when it was asked for: the answer to a repeated claim is old."""
        with self._changed:
            self._beats[held] = Beat(held, self._monotonic(), timeout_seconds, since)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self, held: HeldJob) -> None:
        """Its handler is done; what a beat under way still hears does not matter. A failure that
        nobody has answered yet is still reported."""
        with self._changed:
            if not held.lost:
                self._beats.pop(held, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                beat = min(self._beats.values(), key=lambda beat: beat.at, default=None)
                pause = None if beat is None else beat.at - self._monotonic()
                if beat is None or pause is None or pause > 0:
                    self._changed.wait(pause)
                    continue
            # No answer, however odd, may end the only thread that keeps leases.
            with contextlib.suppress(Exception):
                self.look_after(beat)

    def look_after(self, beat: Beat) -> None:
        """One beat, or one report that the handler has overstayed."""
        now = self._monotonic()
        again_at = now + min(AGAIN_SECONDS, beat.lease_seconds / 6)
        if now < beat.ends_at:
            beat.at = min(again_at, beat.ends_at)
            self._extend(beat, now)
        elif self._has_overstayed(beat):
            beat.at = again_at
            self._fail(beat)

    def _extend(self, beat: Beat, now: float) -> None:
        held = beat.held
        try:
            lease = self._client.heartbeat(held.job, beat.lease_seconds)
        except Conflict as lost:
            if self._forget(held):
                held.lose()
                _log.warning("lease-lost", extra={"fields": _fields(held.job, code=lost.code)})
            return
        if lease.cancel_requested:
            held.ask_to_cancel()
        beat.lease_ends_at = now + lease.lease_seconds_remaining
        # Of a lease that grows no longer less and less remains.
        pause = max(lease.lease_seconds_remaining / 3, BEATS_APART_SECONDS)
        beat.at = min(now + pause, beat.ends_at)

    def _has_overstayed(self, beat: Beat) -> bool:
        """Whether the failure is to be reported here; not when the handler has just ended."""
        held = beat.held
        with self._changed:
            if held.lost or held not in self._beats:
                return held in self._beats
            if not held.may_report():
                del self._beats[held]
                return False
            held.lose()
        _log.warning("handler-overstayed", extra={"fields": _fields(held.job)})
        return True

    def _fail(self, beat: Beat) -> None:
        job = beat.held.job
        said = f"the handler took longer than {beat.timeout_seconds:g} s"
        try:
            self._client.fail(job, said, TIMEOUT_CODE)
        except Refused as refused:
            _log.warning("report-not-taken", extra={"fields": _fields(job, code=refused.code)})
        except Exception as error:
            if self._monotonic() < beat.lease_ends_at:
                return
            cause = type(error).__name__
            _log.error("report-not-sent", extra={"fields": _fields(job, cause=cause)})
        self._forget(beat.held)

    def _forget(self, held: HeldJob) -> bool:
        """Look after it no longer; whether it was looked after until now."""
        with self._changed:
            return self._beats.pop(held, None) is not None


def _lease_seconds(job: Job) -> float:
    starts, ends = job.claimed_at, job.lease_expires_at
    assert isinstance(starts, datetime) and isinstance(ends, datetime)
    return (ends - starts).total_seconds()


def _fields(job: Job, **more: Any) -> dict[str, Any]:
    return {"job_id": job.id, "attempt": job.attempt, **more}
