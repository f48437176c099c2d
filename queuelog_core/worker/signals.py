"""SIGTERM and SIGINT as a request to stop; the second as a request to hurry, the third as usual."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)


class Bell:
    """An event that a signal handler may set: one of threading's could be waiting for its own lock
    in the thread that the signal interrupts. One thread may wait."""

    def __init__(self) -> None:
        self._rung = False
        self._wake: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """Wake who waits, now and ever after."""
        self._rung = True
        self._wake.put(None)

    def has_rung(self) -> bool:
        """Whether `ring` was called."""
        return self._rung

    def wait(self, seconds: float) -> None:
        """Until it rings, at most so long."""
        if not self._rung:
            with contextlib.suppress(Empty):
                self._wake.get(timeout=seconds)


@contextlib.contextmanager
def on_signals(stop: Callable[[], None], hurry: Callable[[], None]) -> Iterator[None]:
    """While inside, the first signal calls `stop`, the second `hurry`, the third ends the process.

    Outside of the main thread, where Python takes no signals, it changes nothing, nor does it for
    processes that are forked meanwhile: they are ended by a signal as before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked, own = False, os.getpid()

    def heard(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if os.getpid() != own:
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)
            return
        again, asked = asked, True
        if again:
            for each in STOPPING:
                signal.signal(each, signal.SIG_DFL)
        (hurry if again else stop)()

    before = {number: signal.signal(number, heard) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
