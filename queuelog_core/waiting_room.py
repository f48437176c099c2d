"""How long a request has waited for one of the server's threads, told to the application.

Waitress queues without a limit. While the store is blocked, each round of threads would wait for
it in turn, and the last caller in the queue would wait for all of the rounds.
"""

from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from queuelog_core.clock import monotonic_seconds
from queuelog_core.http.app import WAITED_SECONDS


class _TimedRequest(WSGITask):
    channel: "StampingChannel"

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        environ[WAITED_SECONDS] = monotonic_seconds() - self.channel.arrived
        return environ


class StampingChannel(HTTPChannel):
    """A connection that remembers when the last part of its request came."""

    task_class = _TimedRequest
    arrived = 0.0

    def received(self, data: bytes) -> bool:
        self.arrived = monotonic_seconds()
        done: bool = super().received(data)
        return done
