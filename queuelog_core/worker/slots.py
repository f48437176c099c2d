"""The threads that handlers run in: daemons, so that a handler without end holds no exit up."""

import threading
from collections import Counter
from collections.abc import Callable
from queue import SimpleQueue

from queuelog_core.worker.held import HeldJob
from queuelog_core.worker.reporting import LOST


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
        self._taken_back: set[HeldJob] = set()
        self._is_shut = False
        self._threads = 0

    def start(self, held: HeldJob) -> bool:
        """Run a job; the caller has seen that a slot is free. False when they are shut: then the
        caller has the job, as one that it has taken back."""
        with self._changed:
            self._held.add(held)
            if self._is_shut:
                self._taken_back.add(held)
                return False
            if self._threads < len(self._held):
                self._threads += 1
                name = f"slot-{self._threads}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        self._given.put(held)
        return True

    def shut(self) -> None:
        """Start no more jobs, and wait no longer for a slot or an end."""
        with self._changed:
            self._is_shut = True
            self._changed.notify_all()

    def wait_for_a_free_one(self) -> int:
        """How many are free, at least one unless they are shut."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_shut or len(self._held) < self._number)
            return self._number - len(self._held)

    def ended(self) -> int:
        """How many jobs have ended."""
        with self._changed:
            return self.outcomes.total()

    def wait_for_an_end(self, ended: int, wait_seconds: float) -> bool:
        """Until more than `ended` jobs have ended, or the time is over; False, at once, when no job
        runs and no more have ended."""

        def is_over() -> bool:
            return self._is_shut or self.outcomes.total() > ended or not self._held

        with self._changed:
            self._changed.wait_for(is_over, wait_seconds)
            return self.outcomes.total() > ended or bool(self._held)

    def wait_for_all(self, wait_seconds: float) -> bool:
        """Until every job is counted; False when the time is over before that."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, wait_seconds)

    def take_back(self) -> list[HeldJob]:
        """Shut them. The jobs whose handlers still run: from now on the caller reports and counts
        them. Those whose report is under way stay."""
        self.shut()
        with self._changed:
            running = self._held - self._taken_back
            taken = [held for held in running if held.lost or held.may_report()]
            self._taken_back.update(taken)
            return taken

    def give_up(self) -> None:
        """Nobody waits any more for the reports that are still under way."""
        with self._changed:
            for held in list(self._held):
                self.count(held, LOST)

    def count(self, held: HeldJob, outcome: str) -> None:
        """This job has ended so, unless it was counted before. `ended` hears of one at a time."""
        with self._changed:
            if held in self._held:
                self._held.remove(held)
                self._changed.notify_all()
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
                if held not in self._taken_back:
                    self.count(held, outcome)
