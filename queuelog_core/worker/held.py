"""One job in a worker's hands: what its handler sees of it, and whether it is still its own."""

import threading
from typing import Any

from queuelog_core.client import Job


class HeldJob:
    """A claimed job, as its handler gets it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._lost = threading.Event()
        self._cancel = threading.Event()
        self._report = threading.Lock()

    @property
    def id(self) -> int:
        """The job's id."""
        return self.job.id

    @property
    def type(self) -> str:
        """The job's type."""
        return self.job.type

    @property
    def payload(self) -> dict[str, Any]:
        """What the producer sent."""
        return self.job.payload

    @property
    def attempt(self) -> int:
        """How many times this job was claimed, this time included."""
        return self.job.attempt

    @property
    def lost(self) -> bool:
        """Whether the job is no longer this worker's: stop, nobody waits for what you return."""
        return self._lost.is_set()

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked to cancel the job: stop if you can, or finish it still."""
        return self._cancel.is_set()

    def lose(self) -> None:
        """From now on it is somebody else's, or nobody's."""
        self._lost.set()

    def ask_to_cancel(self) -> None:
        """Tell the handler."""
        self._cancel.set()

    def may_report(self) -> bool:
        """True once, for whoever asks first; never for a job that is lost."""
        return not self.lost and self._report.acquire(blocking=False)
