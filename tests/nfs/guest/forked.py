"""Processes forked from a warm one: starting Python anew takes a second in the guest."""

import json
import os
import select
import signal
import traceback
from collections.abc import Callable
from typing import Any

_ANSWER_BYTES_MAX = 65_536
"""What a pipe takes at once."""


class Forked:
    """A child that does `work` and tells what it returns, as JSON."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._answers, self.answering = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._live(work)
        os.close(self.answering)

    def _live(self, work: Callable[[], object]) -> None:
        told: tuple[object, str] = (None, "nothing")
        try:
            told = (work(), "")
        except Exception:
            told = (None, traceback.format_exc())
        finally:
            # What the parent has open is not the child's to close.
            os.write(self.answering, json.dumps(told).encode())
            os._exit(0)

    def kill(self) -> str:
        """End it; what it had told by then."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        said = os.read(self._answers, _ANSWER_BYTES_MAX)
        os.close(self._answers)
        return said.decode()

    def answer(self, seconds: float) -> Any:
        """What it tells at its end; that it fails, or tells nothing by then, is an error."""
        select.select([self._answers], [], [], seconds)
        said = self.kill()
        assert said, f"process {self.pid} told nothing"
        told, failure = json.loads(said)
        assert not failure, failure
        return told
