"""Dead jobs are sent on their way again, one by one or by filter."""

from datetime import timedelta
from typing import Any

import pytest

from queuelog_core.client import Forbidden, Job, Redriven, ValidationFailed
from tests.client.clients import NOON, Clients
from tests.support.factories import FakeClock


def test_a_dead_job_is_redriven(clients: Clients) -> None:
    job = clients["producer"].enqueue("email")
    clients["producer"].cancel(job.id)

    assert clients["admin"].redrive(job.id).status == "pending"
    assert clients["admin"].redrive(job.id).status == "pending"
    with pytest.raises(Forbidden):
        clients["producer"].redrive(job.id)


def dead_jobs(clients: Clients, clock: FakeClock) -> list[Job]:
    """A cancelled email, and an hour later a cancelled pdf and an email that failed with `smtp`."""
    client, worker = clients["producer"], clients["worker"]
    dead = [client.cancel(client.enqueue("email").id)]
    clock.advance(3600)
    dead.append(client.cancel(client.enqueue("pdf").id))
    client.enqueue("email")
    return [*dead, worker.fail(worker.claim().jobs[0], None, "smtp", retryable=False)]


@pytest.mark.parametrize(
    ("filters", "redriven"),
    [
        ({}, 3),
        ({"status": "cancelled"}, 2),
        ({"status": "failed"}, 1),
        ({"status": "cancelled", "job_type": "email"}, 1),
        ({"status": "failed", "error_code": "smtp"}, 1),
        ({"status": "failed", "error_code": "other"}, 0),
        ({"status": "cancelled", "created_after": NOON + timedelta(minutes=1)}, 1),
        ({"status": "failed", "created_before": NOON + timedelta(minutes=1)}, 0),
    ],
)
def test_a_redrive_by_filter_changes_what_matches_and_without_one_all(
    clients: Clients, clock: FakeClock, filters: dict[str, Any], redriven: int
) -> None:
    dead_jobs(clients, clock)
    client = clients["admin"]

    seen = client.redrive_many(**filters, dry_run=True)
    assert (seen.matched, seen.redriven) == (redriven, 0)
    assert len(list(client.jobs(status="pending"))) == 0
    assert client.redrive_many(**filters) == Redriven(redriven, redriven, more=False)
    assert len(list(client.jobs(status="pending"))) == redriven


def test_a_redrive_by_filter_names_a_status(clients: Clients) -> None:
    with pytest.raises(ValidationFailed) as raised:
        clients["admin"].redrive_many(job_type="email")
    assert raised.value.errors[0]["field"] == "filter.status"


def test_a_redrive_in_steps_says_when_there_is_more(clients: Clients, clock: FakeClock) -> None:
    dead_jobs(clients, clock)

    steps = [clients["admin"].redrive_many(limit=2) for _ in range(2)]

    assert [(step.redriven, step.more) for step in steps] == [(2, True), (1, False)]
