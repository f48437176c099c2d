"""The worker: claims jobs over HTTP, runs their handlers, reports. One loop for every use."""

import json
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from queuelog_core.client import Client, Job, Refused, Unreachable
from queuelog_core.clock import monotonic_seconds
from queuelog_core.job import SERVER_ERROR_CODES

Handler = Callable[[Job], Any]
"""Runs one job; what it returns is the result, what it raises is the failure."""

REPORT_SECONDS_MAX = 60.0
_ERROR_CHARS_MAX = 4096
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_CODES = re.compile(r"[^a-z0-9_]")

_log = logging.getLogger(__name__)


class Worker:
    """Runs jobs of the types that it has handlers for, one at a time, until it is told to stop."""

    def __init__(
        self,
        client: Client,
        handlers: Mapping[str, Handler],
        *,
        poll_seconds_max: float = 20.0,
    ) -> None:
        self._client = client
        self._handlers = dict(handlers)
        self._poll_seconds_max = poll_seconds_max
        self._stop = threading.Event()

    def run(self) -> None:
        """Work until `stop`; a running job is finished and reported first."""
        while not self._stop.is_set():
            try:
                self._round()
            except Exception as error:
                # Whatever it was, one round must not end the loop.
                _log.error("round-failed", extra={"fields": {"cause": type(error).__name__}})
                self._pause(self._poll_seconds_max)

    def _round(self) -> None:
        try:
            job, wait = self._client.claim(list(self._handlers))
        except Unreachable as error:
            self._pause(error.retry_after_seconds)
        except Refused as error:
            _log.error("claim-refused", extra={"fields": {"code": error.code}})
            self._pause(self._poll_seconds_max)
        else:
            if job is None:
                self._pause(wait)
            else:
                self._work(job)

    def stop(self) -> None:
        """Claim nothing more. Safe from any thread and from a signal handler."""
        self._stop.set()

    def _pause(self, seconds: float) -> None:
        # Jitter keeps workers that were started together from asking together.
        self._stop.wait(min(seconds, self._poll_seconds_max) * random.uniform(0.8, 1.2))

    def _work(self, job: Job) -> None:
        try:
            result = self._handlers[job["type"]](job)
            json.dumps(result, allow_nan=False, ensure_ascii=False).encode()
        except BaseException as error:
            # SystemExit and the cancellation of a loop would end the worker without a word.
            self._fail(job, error_text(error), error_code(error))
            return
        refused = _report(lambda: self._client.complete(job, result))
        if refused is not None and refused.status != 409:
            self._fail(job, f"the result was refused: {refused}", "result_refused")
        elif refused is not None:
            _log_lost(job, refused)

    def _fail(self, job: Job, text: str, code: str) -> None:
        refused = _report(lambda: self._client.fail(job, text, code))
        if refused is not None:
            _log_lost(job, refused)


def _report(send: Callable[[], None]) -> Refused | None:
    """Send a report until it is answered; it names its attempt, so a repeat is harmless.

    None when it was taken, or when nobody answered for a minute: then the lease decides.
    """
    give_up_at = monotonic_seconds() + REPORT_SECONDS_MAX
    while True:
        try:
            send()
            return None
        except Refused as refused:
            return refused
        except Unreachable as error:
            if monotonic_seconds() >= give_up_at:
                _log.error("report-not-sent", extra={"fields": {"cause": str(error)}})
                return None
            time.sleep(error.retry_after_seconds)


def error_code(error: BaseException) -> str:
    """A slug for an exception: FileNotFoundError is file_not_found_error."""
    words = _CAPITAL.sub("_", type(error).__name__).lower()
    code = _NOT_IN_CODES.sub("_", words)[:64]
    return f"raised_{code}" if code in SERVER_ERROR_CODES else code


def error_text(error: BaseException) -> str:
    """Name and words of an exception, whatever is wrong with the words."""
    try:
        words = str(error)
    except Exception:
        words = "(without words)"
    text = f"{type(error).__name__}: {words}"[:_ERROR_CHARS_MAX]
    return text.encode("utf-8", "replace").decode()


def _log_lost(job: Job, refused: Refused) -> None:
    fields = {"job_id": job["id"], "attempt": job["attempt"], "code": refused.code}
    _log.warning("report-not-taken", extra={"fields": fields})
