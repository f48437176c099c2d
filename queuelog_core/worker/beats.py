"""Heartbeats: one thread that keeps the leases of all running jobs alive, until each one ends.

A beat that finds no answer is tried again soon; a job is lost only when the server says so, or when
its handler overstays: then the failure is reported and the handler told.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from datetime import datetime

from queuelog_core.client import Client, ClientError, Conflict, Job
from queuelog_core.clock import monotonic_seconds
from queuelog_core.worker.held import HeldJob

AGAIN_SECONDS = 2.0
BEATS_APART_SECONDS = 0.25
TIMEOUT_CODE = "timeout"
_log = logging.getLogger(__name__)


class Beat:
    """When a job is looked at next, how long its lease is, and when its handler has overstayed."""

    def __init__(self, held: HeldJob, now: float, timeout_seconds: float) -> None:
        self.held = held
        self.lease_seconds = max(1, round(_lease_seconds(held.job)))
        self.ends_at = now + timeout_seconds
        self.timeout_seconds = timeout_seconds
        self.at = min(now + self.lease_seconds / 3, self.ends_at)


class Beats:
    """Keeps leases alive. `client` should give up on a call quickly: others wait for their beat."""

    def __init__(self, client: Client, monotonic: Callable[[], float] = monotonic_seconds) -> None:
        self._client = client
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._beats: dict[HeldJob, Beat] = {}
        self._thread: threading.Thread | None = None

    def begin(self, held: HeldJob, timeout_seconds: float) -> None:
        """Keep this job until `end`."""
        with self._changed:
            self._beats[held] = Beat(held, self._monotonic(), timeout_seconds)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self, held: HeldJob) -> None:
        """Its handler is done; what a beat under way still hears does not matter."""
        with self._changed:
            self._beats.pop(held, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                beat = min(self._beats.values(), key=lambda beat: beat.at, default=None)
                pause = None if beat is None else beat.at - self._monotonic()
                if beat is None or pause is None or pause > 0:
                    self._changed.wait(pause)
                    continue
            with contextlib.suppress(ClientError):
                self.look_after(beat)

    def look_after(self, beat: Beat) -> None:
        """One beat, or the end of a job whose handler has overstayed."""
        now = self._monotonic()
        beat.at = min(now + min(AGAIN_SECONDS, beat.lease_seconds / 6), beat.ends_at)
        held = beat.held
        if now >= beat.ends_at:
            self.end(held)
            if held.may_report():
                held.lose()
                _log.warning("handler-overstayed", extra={"fields": _fields(held.job)})
                said = f"the handler took longer than {beat.timeout_seconds:g} s"
                self._client.fail(held.job, said, TIMEOUT_CODE)
            return
        try:
            lease = self._client.heartbeat(held.job, beat.lease_seconds)
        except Conflict as lost:
            with self._changed:
                still = self._beats.pop(held, None) is not None
            if still:
                held.lose()
                fields = {**_fields(held.job), "code": lost.code}
                _log.warning("lease-lost", extra={"fields": fields})
            return
        if lease.cancel_requested:
            held.ask_to_cancel()
        # Of a lease that grows no longer less and less remains.
        pause = max(lease.lease_seconds_remaining / 3, BEATS_APART_SECONDS)
        beat.at = min(now + pause, beat.ends_at)


def _lease_seconds(job: Job) -> float:
    starts, ends = job.claimed_at, job.lease_expires_at
    assert isinstance(starts, datetime) and isinstance(ends, datetime)
    return (ends - starts).total_seconds()


def _fields(job: Job) -> dict[str, int]:
    return {"job_id": job.id, "attempt": job.attempt}
