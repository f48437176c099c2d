"""docs/state-model.md names every arrow of the state machine and no other, and what it changes."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict
from queuelog_core.job import Job
from queuelog_core.reports import Report, Verb
from tests.support.factories import LEASE, pending_job, report

PAGE = Path(__file__).parent.parent.parent / "docs" / "state-model.md"
# Of every change; and what nobody but the state machine itself can see.
NOT_TOLD = {"status", "updated_at", "history", "version", "error_attempt", "redriven_by"}
FRESH = pending_job(id=1, max_retries=1)
STARTS = [FRESH, FRESH._replace(release_count=20, error="old", error_code="old", error_attempt=0)]


class Arrow(NamedTuple):
    before: str
    verb: str
    after: str


def moves(job: Job, now: int) -> list[tuple[str, Callable[[], Job]]]:
    """Every verb, with all that decides where it leads."""

    def said(verb: Verb) -> Report:
        return report(verb, job.attempt)

    def fail(retryable: bool) -> Job:
        told = said(Verb.FAIL)
        return transitions.fail(
            job, now, told, delay=1, error="new", error_code="new", retryable=retryable
        )

    def release() -> Job:
        return transitions.release(job, now, said(Verb.RELEASE), delay=1, backoff=1)

    def heartbeat() -> Job:
        return transitions.heartbeat(job, now, said(Verb.HEARTBEAT), LEASE, 12 * LEASE)

    return [
        ("claim", lambda: transitions.claim(job, max(now, job.run_at), "mailer", LEASE)),
        ("complete", lambda: transitions.complete(job, now, said(Verb.COMPLETE), "1")),
        ("fail", lambda: fail(retryable=True)),
        ("fail", lambda: fail(retryable=False)),
        ("expire", lambda: transitions.expire(job, now, 1)),
        ("lose", lambda: transitions.lose(job, now, job.attempt)),
        ("heartbeat", heartbeat),
        ("release", release),
        ("cancel", lambda: transitions.cancel(job, now)),
        ("redrive", lambda: transitions.redrive(job, now, "root")),
    ]


def kind(job: Job) -> tuple[object, ...]:
    """All that the state machine may look at, so that one job of a kind stands for all."""
    last = job.history[-1] if job.history else None
    return (
        job.status,
        job.cancel_requested_at is None,
        job.max_retries - job.retry_count,
        job.release_count < transitions.RELEASES_FREE_MAX,
        job.error is None,
        job.redriven_by,
        last and (last.outcome, last.closed, last.retry_spent),
    )


def changes() -> Iterator[tuple[Job, str, Job]]:
    """Every verb, tried on every kind of job that any sequence of verbs leads to."""
    waiting = list(STARTS)
    known = {kind(job) for job in waiting}
    while waiting:
        job = waiting.pop()
        for now in (job.updated_at + 1, (job.lease_expires_at or job.updated_at) + 2):
            for verb, move in moves(job, now):
                try:
                    after = move()
                except Conflict:
                    continue
                if after is not job:
                    yield job, verb, after
                    if kind(after) not in known:
                        known.add(kind(after))
                        waiting.append(after)


CHANGES = [
    (Arrow(before.status.value, verb, after.status.value), before, after)
    for before, verb, after in changes()
]


def rows() -> list[tuple[list[Arrow], set[str]]]:
    """Of every row of the page its arrows and the fields that it says are changed."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    fields = set[str]()
    read = []
    for starts, verb, _, end, _, told in cells:
        fields = fields if told == "the same" else set(re.findall(r"`(\w+)`", told))
        read.append(([Arrow(start, verb, end) for start in starts.split(", ")], fields))
    return read


def test_the_page_names_every_arrow_and_no_other() -> None:
    made = Arrow("none", "enqueue", pending_job().status.value)
    named = [arrow for arrows, _ in rows() for arrow in arrows]

    assert set(named) == {made, *(arrow for arrow, _, _ in CHANGES)}


@pytest.mark.parametrize(
    ("verb", "end"), sorted({(arrow.verb, arrow.after) for arrow, _, _ in CHANGES})
)
def test_the_page_names_every_field_that_a_verb_changes_on_its_way_and_no_other(
    verb: str, end: str
) -> None:
    told = [fields for arrows, fields in rows() if arrows[0][1:] == (verb, end)]
    changed = {
        field
        for arrow, before, after in CHANGES
        if arrow[1:] == (verb, end)
        for field, old, new in zip(Job._fields, before, after, strict=True)
        if old != new
    }

    assert set().union(*told) == changed - NOT_TOLD
