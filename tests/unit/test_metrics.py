"""The numbers that alarms watch, and the line that makes them metrics."""

import json

import pytest

from queuelog_core.job import Priority, Status
from queuelog_core.metrics import NAMESPACE, metric_line, queue_metrics
from queuelog_core.stores import Count, Stats, Store
from tests.support.emf import metrics_of
from tests.support.factories import LEASE, NOON
from tests.support.stores import claim, claim_one, complete, fail, insert

NONE_DUE: dict[Priority, int | None] = dict.fromkeys(Priority)


def stats(**changes: object) -> Stats:
    nothing = Stats(
        exact=True,
        statuses={},
        due=Count(0, False),
        delayed=Count(0, False),
        expired_leases=Count(0, False),
        oldest_due_at=NONE_DUE,
        late_reports=0,
    )
    return nothing._replace(**changes)  # type: ignore[arg-type]


def test_the_line_is_valid_and_names_its_stage_and_time() -> None:
    line = metric_line("prod", {"OldestDueAgeSeconds": 1.5, "DueJobs": 3}, NOON)

    assert metrics_of(line) == {"OldestDueAgeSeconds": 1.5, "DueJobs": 3}
    document = json.loads(line)
    assert (document["Stage"], document["_aws"]["Timestamp"]) == ("prod", NOON)
    (directive,) = document["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == NAMESPACE
    assert directive["Dimensions"] == [["Stage"]]
    assert directive["Metrics"] == [
        {"Name": "OldestDueAgeSeconds", "Unit": "Seconds"},
        {"Name": "DueJobs", "Unit": "Count"},
    ]


def test_a_queue_without_jobs_has_all_numbers_and_each_is_zero() -> None:
    assert queue_metrics(stats(), NOON) == dict.fromkeys(
        [
            *("OldestDueAgeSeconds", "DueJobs", "DelayedJobs", "RunningJobs", "DeadJobs"),
            *("ExpiredLeases", "LateReports"),
        ],
        0,
    )


def test_the_age_is_that_of_the_oldest_due_job_of_any_priority() -> None:
    due = {**NONE_DUE, Priority.LOW: NOON - 90_500, Priority.CRITICAL: NOON - 1_000}

    assert queue_metrics(stats(oldest_due_at=due), NOON)["OldestDueAgeSeconds"] == 90.5


def test_a_job_that_fell_due_after_the_clock_was_read_has_no_age() -> None:
    due = {**NONE_DUE, Priority.LOW: NOON + 5}

    assert queue_metrics(stats(oldest_due_at=due), NOON)["OldestDueAgeSeconds"] == 0


@pytest.mark.parametrize(
    ("name", "status"), [("RunningJobs", Status.RUNNING), ("DeadJobs", Status.FAILED)]
)
def test_jobs_are_counted_over_all_types(name: str, status: Status) -> None:
    statuses = {"email": {status: 2, Status.COMPLETED: 9}, "pdf": {status: 3}, "sync": {}}

    assert queue_metrics(stats(statuses=statuses), NOON)[name] == 5


def test_a_queue_of_known_jobs_has_their_numbers(store: Store) -> None:
    for _ in range(5):
        insert(store)
    claim(store, limit=4)
    for number, report in ((1, complete), (2, fail)):
        job = store.get(number)
        assert job is not None
        report(store, job)
    insert(store, max_retries=0, priority=Priority.CRITICAL)
    fail(store, claim_one(store))
    insert(store, run_at=NOON + 2 * LEASE)
    later = NOON + LEASE + 1_000

    assert queue_metrics(store.stats(later, None), later) == {
        "OldestDueAgeSeconds": (LEASE + 1_000) / 1000,
        "DueJobs": 2,
        "DelayedJobs": 1,
        "RunningJobs": 2,
        "DeadJobs": 1,
        "ExpiredLeases": 2,
        "LateReports": 0,
    }
