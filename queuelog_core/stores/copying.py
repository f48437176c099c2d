"""Copying a queue from one store to another: what is missing is put there, then all is compared.

Nothing of a copy is written down. What is in the target either equals a job of the source, and then
an earlier run of the copy put it there, or the target is not for this copy.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from queuelog_core.job import Status
from queuelog_core.stores.copied import Copied, Running, StoreCopy

SHOWN_MAX = 20
LOOKS_MAX, PAUSE_SECONDS = 40, 0.25
"""An index shows new jobs within a second, normally."""
Advance = Callable[[int], None]


class Plan(NamedTuple):
    """What a copy would do; `there`: jobs that an earlier run has copied. `write_units` counts what
    is missing."""

    jobs: int
    there: int
    text_bytes: int
    statuses: Mapping[str, Mapping[str, int]]
    running: Running
    write_units: int


class Compared(NamedTuple):
    """How the target differs from the source, by the ids of some jobs. `digest` is that of all jobs
    of the source, in whatever order; `shown` is how many the target counts."""

    jobs: int
    shown: int
    digest: str
    changed: Sequence[int]
    missing: Sequence[int]
    extra: Sequence[int]

    @property
    def ok(self) -> bool:
        """Whether they are the same."""
        return self.shown >= self.jobs and not (self.changed or self.missing or self.extra)


def find_foreign(source: StoreCopy, target: StoreCopy, advance: Advance) -> list[int]:
    """Some jobs of the target that the source does not have, or not like that."""
    found: list[int] = []
    for some in target.export():
        own = source.read(_ids(some))
        found += [one.job.id for one in some if not _equal(one, own.get(one.job.id))]
        advance(len(some))
        if len(found) >= SHOWN_MAX:
            break
    return found[:SHOWN_MAX]


def plan(source: StoreCopy, target: StoreCopy | None, advance: Advance) -> Plan:
    """What there is to copy; nothing is written."""
    jobs = present = text_bytes = units = 0
    statuses: dict[str, Counter[str]] = {}
    for some in source.export():
        there = target.read(_ids(some)) if target else {}
        for one in some:
            statuses.setdefault(one.job.type, Counter())[one.job.status.value] += 1
            text_bytes += one.text_bytes
            if target and one.job.id not in there:
                units += target.write_units(one)
        jobs += len(some)
        present += len(there)
        advance(len(some))
    return Plan(jobs, present, text_bytes, statuses, source.running(), units)


def copy_jobs(source: StoreCopy, target: StoreCopy, advance: Advance) -> int:
    """Put into the target what it does not have; how many. A job that runs is never copied."""
    put = 0
    begun = target.count() > 0
    completed: Counter[str] = Counter()
    for some in source.export():
        there = target.read(_ids(some)) if begun else {}
        missing = [
            one for one in some if one.job.id not in there and one.job.status is not Status.RUNNING
        ]
        target.put(missing)
        put += len(missing)
        completed.update(one.job.type for one in some if one.job.status is Status.COMPLETED)
        advance(len(some))
    target.put_totals(source.totals()._replace(completed=completed))
    return put


def compare(source: StoreCopy, target: StoreCopy, advance: Advance) -> Compared:
    """Read all jobs on both sides."""
    jobs = total = absent = 0
    changed: list[int] = []
    missing: list[int] = []
    for some in source.export():
        there = target.read(_ids(some))
        missing += [job_id for job_id in _ids(some) if job_id not in there]
        absent += len(some) - len(there)
        changed += [
            one.job.id for one in some if one.job.id in there and not _equal(one, there[one.job.id])
        ]
        del changed[SHOWN_MAX:], missing[SHOWN_MAX:]
        total = sum((one.digest for one in some), total) % 2**256
        jobs += len(some)
        advance(len(some))
    shown = _count(target, jobs - absent)
    extra = _find_extra(source, target) if shown > jobs - absent else []
    return Compared(jobs, shown, f"{total:064x}", changed, missing, extra)


def _count(target: StoreCopy, jobs: int) -> int:
    """How many jobs the target counts, once it shows those that were put last."""
    for _ in range(LOOKS_MAX):
        shown = target.count()
        if shown >= jobs:
            break
        time.sleep(PAUSE_SECONDS)
    return shown


def _find_extra(source: StoreCopy, target: StoreCopy) -> list[int]:
    extra: list[int] = []
    for some in target.export():
        own = source.read(_ids(some))
        extra += [job_id for job_id in _ids(some) if job_id not in own]
    return extra[:SHOWN_MAX]


def _ids(some: Sequence[Copied]) -> list[int]:
    return [one.job.id for one in some]


def _equal(one: Copied, other: Copied | None) -> bool:
    return other is not None and one.digest == other.digest
