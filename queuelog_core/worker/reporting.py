"""One job from its claim to its report."""

import json
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from queuelog_core.client import Client, Conflict, Refused
from queuelog_core.worker.held import HeldJob
from queuelog_core.worker.outcomes import Discard, Retry, error_code, error_text

Handler = Callable[[HeldJob], Any]
"""Runs one job; what it returns is the result, what it raises is the failure."""

COMPLETED, FAILED, RELEASED, LOST = "completed", "failed", "released", "lost"
RESULT_REFUSED, REPORT_REFUSED = "result_refused", "report_refused"
_log = logging.getLogger(__name__)


class Ended(NamedTuple):
    """How a handler ended: with a result, or by raising."""

    result: Any
    raised: BaseException | None


def run_and_report(
    client: Client, handler: Handler, held: HeldJob, done: Callable[[HeldJob], None]
) -> str:
    """Run the handler, tell `done` that it has ended, then report: how the job ended here."""
    ended = run(handler, held)
    done(held)
    return report(client, held, ended)


def run(handler: Handler, held: HeldJob) -> Ended:
    """Run the handler; a result that is not JSON counts as raised."""
    try:
        result = handler(held)
        json.dumps(result, allow_nan=False, ensure_ascii=False).encode()
    except BaseException as error:
        # SystemExit and the cancellation of a loop would end the worker without a word.
        return Ended(None, error)
    return Ended(result, None)


def report(client: Client, held: HeldJob, ended: Ended) -> str:
    """Tell the server: how the job ended here."""
    if not held.may_report():
        return LOST
    try:
        return _tell_or_fail(client, held, ended)
    except Conflict as lost:
        _log.warning("report-not-taken", extra={"fields": _fields(held, code=lost.code)})
    except Exception as error:
        # The lease decides: the job runs again when it has ended. Its thread goes on.
        _log.error("report-not-sent", extra={"fields": _fields(held, cause=type(error).__name__)})
    return LOST


def hand_back(client: Client, held: HeldJob) -> str:
    """Release a job that nobody shall finish here; the right to report is the caller's already."""
    held.lose()
    try:
        client.release(held.job)
    except Exception as error:
        _log.error("release-not-sent", extra={"fields": _fields(held, cause=type(error).__name__)})
        return LOST
    return RELEASED


def _tell_or_fail(client: Client, held: HeldJob, ended: Ended) -> str:
    """What the server refuses is told in words of our own: else the job waits for its lease."""
    try:
        return _tell(client, held, ended)
    except Conflict:
        raise
    except Refused as refused:
        is_result = ended.raised is None
        what, code = ("result", RESULT_REFUSED) if is_result else ("report", REPORT_REFUSED)
        text = f"the {what} was refused: {error_text(refused)}"
        return _fail(client, held, text, code, retryable=not isinstance(ended.raised, Discard))


def _tell(client: Client, held: HeldJob, ended: Ended) -> str:
    result, raised = ended
    if raised is None:
        client.complete(held.job, result)
        return COMPLETED
    if isinstance(raised, Retry) and not raised.spend:
        client.release(held.job, raised.after)
        return RELEASED
    if isinstance(raised, Retry):
        text, after = error_text(raised), raised.after
        return _fail(client, held, text, raised.code, retry_in_seconds=after)
    if isinstance(raised, Discard):
        return _fail(client, held, error_text(raised), raised.code, retryable=False)
    return _fail(client, held, error_text(raised), error_code(raised))


def _fail(client: Client, held: HeldJob, text: str, code: str, **how: Any) -> str:
    client.fail(held.job, text, code, **how)
    # Only the code: the text may tell secrets, and the server scrubs it.
    _log.warning("job-failed", extra={"fields": _fields(held, code=code)})
    return FAILED


def _fields(held: HeldJob, **more: Any) -> dict[str, Any]:
    return {"job_id": held.id, "attempt": held.attempt, **more}
