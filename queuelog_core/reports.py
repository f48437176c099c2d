"""What a worker may still say of a job: the table of reports of the contract, in its order."""

from enum import Enum, StrEnum, auto
from typing import NamedTuple

from queuelog_core.errors import AlreadyReported, LateReport, LeaseLost, NotOwner, no_such_state
from queuelog_core.job import Job, Outcome, Status


class Verb(StrEnum):
    COMPLETE = "complete"
    FAIL = "fail"
    HEARTBEAT = "heartbeat"
    RELEASE = "release"


class Report(NamedTuple):
    """What a worker says of a job. `digest` stands for verb and body: equal, the same report."""

    verb: Verb
    worker_id: str
    attempt: int | None
    digest: str


class Verdict(Enum):
    APPLY = auto()
    REPLAY = auto()  # the same report again: answered as the first time, nothing changes
    LATE = auto()  # the lease ran out, but the work is done and nobody took the job since


def judge(job: Job, report: Report) -> Verdict:
    """The first row that fits answers: a verdict, or a Conflict that is raised."""
    attempt = report.attempt
    for entry in job.history:
        if entry.attempt == attempt and entry.worker_id == report.worker_id and entry.report:
            if entry.report == report.digest:
                return Verdict.REPLAY
            raise AlreadyReported("Another report of this attempt was recorded first.")
    if job.status is Status.RUNNING:
        if attempt not in (None, job.attempt):
            held = any(
                e.attempt == attempt and e.worker_id == report.worker_id for e in job.history
            )
            raise (LateReport if held else LeaseLost)(
                "The attempt given is not the current one; stop working on it."
            )
        if job.worker_id != report.worker_id:
            raise NotOwner("Only the identity that claimed the job may report on it.")
        return Verdict.APPLY
    last = job.history[-1] if job.history else None
    named = last and last.attempt == attempt and last.worker_id == report.worker_id
    if last and named and last.outcome is Outcome.EXPIRED and not last.closed:
        if report.verb is Verb.COMPLETE:
            return Verdict.LATE
        raise LateReport("The lease ran out before this report; stop working on it.")
    raise no_such_state()
