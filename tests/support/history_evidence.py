"""A history of calls beside the jobs that are there at the end, and what a checker looks up."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from queuelog_core.client import Attempt, Job
from tests.support.history import OK, Call

ENDING = ("complete", "fail", "release")
"""The reports that end an attempt."""


class End(NamedTuple):
    """A job at the end, and its newest attempts."""

    job: Job
    attempts: Sequence[Attempt]


class Grant(NamedTuple):
    """A job that a claim was told to have got. Instants are milliseconds."""

    job: int
    attempt: int
    claimed_at: int
    lease_expires_at: int
    run_at: int
    priority: str


Key = tuple[str, str]
"""A producer and its idempotency key."""
Hold = tuple[int, int]
"""A job and the number of the attempt."""


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


class Evidence:
    """All that there is to judge by. A call that was killed may have been done or not.

    `in_order`: the store gives out jobs one after the other, however many ask for them.
    """

    def __init__(
        self, calls: Sequence[Call], ends: Sequence[End], *, in_order: bool = True
    ) -> None:
        self.calls = calls
        self.in_order = in_order
        self.ends = {end.job.id: end for end in ends}
        self.asked: dict[Key, Mapping[str, Any]] = {}
        self.acknowledged: list[tuple[Key, int, Call]] = []
        self.grants: list[tuple[Grant, Call]] = []
        self.holders: dict[Hold, list[Call]] = defaultdict(list)
        self.reports: dict[Hold, list[Call]] = defaultdict(list)
        self.cancels: set[int] = set()
        for call in calls:
            self._take_down(call)

    def _take_down(self, call: Call) -> None:
        match call.verb:
            case "enqueue":
                keys = [(call.identity, job["idempotency_key"]) for job in call.asked["jobs"]]
                self.asked |= zip(keys, call.asked["jobs"], strict=True)
                ids = call.told["ids"] if call.outcome == OK else []
                self.acknowledged += [(key, job, call) for key, job in zip(keys, ids, strict=False)]
            case "claim" if call.outcome == OK:
                for grant in (Grant(*each) for each in call.told["jobs"]):
                    self.grants.append((grant, call))
                    self.holders[grant.job, grant.attempt].append(call)
            case "cancel":
                self.cancels.add(call.asked["job"])
            case "complete" | "fail" | "release" | "heartbeat":
                self.reports[call.asked["job"], call.asked["attempt"]].append(call)

    def done(self, *verbs: str) -> Iterator[tuple[Hold, Call]]:
        """The reports that were acknowledged."""
        for hold, calls in self.reports.items():
            yield from ((hold, call) for call in calls if call.outcome == OK and call.verb in verbs)

    def attempt(self, hold: Hold) -> Attempt | None:
        """What the job itself tells of an attempt; None too for one that its history has lost."""
        end = self.ends.get(hold[0])
        found = [each for each in end.attempts if each.attempt == hold[1]] if end else []
        return found[0] if found else None

    def is_dropped(self, hold: Hold) -> bool:
        """Whether an attempt is older than what a job remembers."""
        end = self.ends.get(hold[0])
        return bool(end and end.attempts and hold[1] < end.attempts[0].attempt)
