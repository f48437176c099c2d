"""Waiting for the end of a job: it is looked at again and again."""

from collections.abc import Callable

from queuelog_core.client.errors import ServerError, Unreachable
from queuelog_core.client.results import Job
from queuelog_core.client.retries import Patience, may_pass

FIRST_PAUSE_SECONDS = 0.1
PAUSE_SECONDS_MAX = 5.0


def wait_until_finished(
    look: Callable[[float], Job], timeout_seconds: float, patience: Patience
) -> Job:
    """The job once it has ended. `look` is told for how long it may go on trying.

    Raises TimeoutError when the time is over, also for want of an answer; Unreachable when the
    budget of a call is spent before that.
    """
    give_up_at = patience.monotonic() + timeout_seconds
    pause, seen = FIRST_PAUSE_SECONDS, ""
    while True:
        left = max(0.0, give_up_at - patience.monotonic())
        try:
            job = look(min(patience.budget_seconds, left))
        except Unreachable as error:
            is_final = isinstance(error, ServerError) and not may_pass(
                error.status, error.request_id
            )
            if is_final or patience.budget_seconds < left:
                raise
            raise TimeoutError(f"{seen}no answer: {error}") from error
        if job.is_finished:
            return job
        left = give_up_at - patience.monotonic()
        if left <= 0:
            raise TimeoutError(f"job {job.id} is still {job.status}")
        seen = f"job {job.id} was {job.status}; "
        patience.sleep(min(pause, left))
        pause = min(pause * 1.5, PAUSE_SECONDS_MAX)
