"""The whole table of actions and statuses. What an arrow does to the fields of a job is in
test_transitions_fields.py, the rest in test_transitions_limits.py and test_transitions_times.py."""

from collections.abc import Callable

import pytest

from queuelog_core import transitions
from queuelog_core.errors import Conflict
from queuelog_core.job import Job, Status
from queuelog_core.reports import Verb
from tests.support.factories import LEASE, NOON, job_in, report, running_job, tell

LATER = NOON + 1_000
Action = Callable[[Job], Job]

# A cell is the next status, or the conflict that is raised. Reports name the current attempt and,
# where one was recorded before, have its verb's usual body.
TABLE = """
action     pending    running    completed        failed           cancelled
claim      running    Conflict   Conflict         Conflict         Conflict
complete   Conflict   completed  completed        AlreadyReported  AlreadyReported
fail       Conflict   pending    AlreadyReported  failed           cancelled
expire     Conflict   pending    Conflict         Conflict         Conflict
lose       Conflict   failed     Conflict         Conflict         Conflict
heartbeat  Conflict   running    AlreadyReported  AlreadyReported  AlreadyReported
release    Conflict   pending    AlreadyReported  AlreadyReported  AlreadyReported
cancel     cancelled  running    Conflict         Conflict         cancelled
redrive    Conflict   Conflict   Conflict         pending          pending
"""
# What a running job becomes by what it has left: retries, none, or the wish to cancel it.
RUNNING_TABLE = """
action     retries    none       cancel-asked
claim      Conflict   Conflict   Conflict
complete   completed  completed  completed
fail       pending    failed     cancelled
expire     pending    failed     cancelled
lose       failed     failed     cancelled
heartbeat  running    running    running
release    pending    pending    cancelled
cancel     running    running    running
redrive    Conflict   Conflict   Conflict
"""
LEFT = {
    "retries": running_job(),
    "none": running_job(max_retries=3, retry_count=3),
    "cancel-asked": transitions.cancel(running_job(), NOON),
}


def tell_current(verb: Verb) -> Action:
    return lambda job: tell(job, report(verb, job.attempt), LATER)


ACTIONS: dict[str, Action] = {
    "claim": lambda job: transitions.claim(job, LATER, "mailer", LEASE),
    "expire": lambda job: transitions.expire(job, NOON + LEASE, 0),
    "lose": lambda job: transitions.lose(job, LATER, job.attempt),
    "cancel": lambda job: transitions.cancel(job, LATER),
    "redrive": lambda job: transitions.redrive(job, LATER, "root"),
    **{verb.value: tell_current(verb) for verb in Verb},
}


def cells(table: str) -> list[tuple[str, str, str]]:
    head, *rows = (line.split() for line in table.strip().splitlines())
    return [
        (row[0], column, cell)
        for row in rows
        for column, cell in zip(head[1:], row[1:], strict=True)
    ]


def outcome(action: Action, job: Job) -> str:
    try:
        return action(job).status.value
    except Conflict as error:
        return type(error).__name__


@pytest.mark.parametrize(("action", "status", "expected"), cells(TABLE))
def test_an_action_in_a_status_ends_as_the_table_says(
    action: str, status: str, expected: str
) -> None:
    job = job_in(Status(status))

    assert outcome(ACTIONS[action], job) == expected


@pytest.mark.parametrize(("action", "left", "expected"), cells(RUNNING_TABLE))
def test_a_running_job_goes_where_its_budget_lets_it(action: str, left: str, expected: str) -> None:
    job = LEFT[left]

    assert outcome(ACTIONS[action], job) == expected


def test_the_table_names_every_action_in_every_status_once() -> None:
    named = [(action, status) for action, status, _ in cells(TABLE)]

    assert sorted(named) == sorted((action, status) for action in ACTIONS for status in Status)


@pytest.mark.parametrize(
    ("action", "status"),
    [("complete", "completed"), ("fail", "failed"), ("fail", "cancelled"), ("cancel", "cancelled")],
)
def test_an_action_that_was_done_before_changes_nothing(action: str, status: str) -> None:
    job = job_in(Status(status))

    assert ACTIONS[action](job) is job
