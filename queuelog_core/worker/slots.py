"""The threads that handlers run in: daemons, so that a handler without end holds no exit up."""

import threading
from collections import Counter
from collections.abc import Callable
from queue import SimpleQueue

from queuelog_core.worker.held import HeldJob


class Slots:
    """A fixed number of threads, made as they are needed, each running one job at a time.

    `outcomes` counts each job once: by what its run came to, or by what became of it when it was
    taken back before that.
    """

    def __init__(
        self, number: int, run: Callable[[HeldJob], str], ended: Callable[[str], None]
    ) -> None:
        self.outcomes: Counter[str] = Counter()
        self._number = number
        self._run = run
        self._ended = ended
        self._given: SimpleQueue[HeldJob | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._held: set[HeldJob] = set()
        self._threads = 0

    def start(self, held: HeldJob) -> None:
        """Run a job; the caller has seen that a slot is free."""
        with self._changed:
            self._held.add(held)
            if self._threads < len(self._held):
                self._threads += 1
                name = f"slot-{self._threads}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        self._given.put(held)

    def free(self, wait_seconds: float = 0.0) -> int:
        """How many are free; waits for one if none is."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._held) < self._number, wait_seconds)
            return self._number - len(self._held)

    def are_idle(self) -> bool:
        """Whether no job runs."""
        with self._changed:
            return not self._held

    def wait_for_one(self, wait_seconds: float) -> None:
        """Until a job has ended, or the time is over."""
        with self._changed:
            before = len(self._held)
            self._changed.wait_for(lambda: len(self._held) < before, wait_seconds)

    def wait_for_all(self, wait_seconds: float) -> bool:
        """Until no job runs any more; False when the time is over before that."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, wait_seconds)

    def take_back(self) -> list[HeldJob]:
        """The jobs whose handlers still run; from now on the caller reports and counts them. Those
        whose report is under way stay."""
        with self._changed:
            taken = [held for held in self._held if held.lost or held.may_report()]
            self._held.difference_update(taken)
            return taken

    def give_up(self) -> int:
        """How many reports are still under way; nobody waits for them any more."""
        with self._changed:
            left, self._held = len(self._held), set()
            return left

    def count(self, outcome: str) -> None:
        """One more job has ended so. `ended` hears of one at a time."""
        with self._changed:
            self.outcomes[outcome] += 1
            self._ended(outcome)

    def close(self) -> None:
        """Let the threads end."""
        for _ in range(self._threads):
            self._given.put(None)

    def _serve(self) -> None:
        while (held := self._given.get()) is not None:
            outcome = self._run(held)
            with self._changed:
                if held in self._held:
                    self._held.remove(held)
                    self._changed.notify_all()
                    self.count(outcome)
