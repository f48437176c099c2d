"""What the calls of producers and operators mean, against the application over a real store.

Those of workers are in test_client_worker_calls.py, batches in test_client_batches.py, redrives in
test_client_redrive.py."""

from datetime import datetime, timedelta, timezone

import pytest

from queuelog_core.client import (
    Conflict,
    Forbidden,
    IdempotencyKeyReused,
    NotFound,
    PriorityNotAllowed,
    Redriven,
    Refused,
    ServerError,
    ValidationFailed,
)
from tests.client.clients import NOON, Clients
from tests.client.scripted import JOB, Pauses, Scripted, answer, scripted_client
from tests.support.factories import FakeClock

TIMES = ("created_at", "updated_at", "run_at")


def test_a_job_comes_back_with_all_that_was_asked(clients: Clients) -> None:
    job = clients["producer"].enqueue(
        "email",
        {"to": "ada", "é": [1, None]},
        priority="high",
        max_retries=5,
        idempotency_key="welcome-ada",
        delay_seconds=60,
    )

    assert (job.id, job.type, job.payload) == (1, "email", {"to": "ada", "é": [1, None]})
    assert (job.priority, job.max_retries, job.status) == ("high", 5, "pending")
    assert (job.idempotency_key, job.producer_id) == ("welcome-ada", "shop")
    assert (job.created_at, job.run_at) == (NOON, NOON + timedelta(seconds=60))
    assert (job.claimed_at, job.attempt, job.is_finished) == (None, 0, False)


def test_what_was_not_asked_is_left_to_the_server(clients: Clients) -> None:
    job = clients["producer"].enqueue("email")

    assert (job.payload, job.priority, job.max_retries) == ({}, "medium", 3)
    assert all(getattr(job, name) == NOON for name in TIMES)
    assert job.created_at.utcoffset() == timedelta(0)


def test_a_time_may_have_any_zone(clients: Clients) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    at = datetime(2026, 11, 30, 9, 0, 0, 1000, tzinfo=zone)

    assert clients["producer"].enqueue("email", run_at=at).run_at == at


def test_a_time_without_a_zone_is_refused_before_anything_is_sent() -> None:
    transport = Scripted(answer(200, JOB))
    client = scripted_client(transport)
    naive = datetime(2026, 11, 30, 9)  # noqa: DTZ001

    with pytest.raises(ValueError, match="time zone"):
        client.enqueue("email", run_at=naive)
    with pytest.raises(ValueError, match="time zone"):
        list(client.jobs(created_after=naive))
    with pytest.raises(ValueError, match="time zone"):
        client.redrive_many(created_before=naive)
    assert transport.asked == []


def test_a_key_makes_one_job_and_two_calls_without_one_make_two(clients: Clients) -> None:
    client = clients["producer"]

    keyed = [client.enqueue("email", idempotency_key="k").id for _ in range(2)]
    plain = [client.enqueue("email").id for _ in range(2)]

    assert keyed == [1, 1]
    assert plain == [2, 3]


def test_a_key_of_another_request_is_refused_and_changes_nothing(clients: Clients) -> None:
    client = clients["producer"]
    first = client.enqueue("email", {"n": 1}, idempotency_key="k")

    with pytest.raises(IdempotencyKeyReused) as raised:
        client.enqueue("email", {"n": 2}, idempotency_key="k")
    assert raised.value.status == 422
    assert list(client.jobs()) == [first]


def test_refusals_are_raised_as_their_class(clients: Clients) -> None:
    with pytest.raises(PriorityNotAllowed):
        clients["low-producer"].enqueue("email", priority="high")
    with pytest.raises(Forbidden):
        clients["worker"].enqueue("email")
    with pytest.raises(Forbidden):
        clients["nobody"].whoami()
    with pytest.raises(ValidationFailed) as raised:
        clients["producer"].enqueue("email", max_retries=99)
    assert raised.value.errors[0]["field"] == "max_retries"
    assert raised.value.request_id


def test_a_listing_goes_on_over_its_pages(clients: Clients) -> None:
    client = clients["producer"]
    made = [client.enqueue("email").id for _ in range(5)]

    assert [job.id for job in client.jobs(limit=2)] == made[::-1]
    assert [job.id for job in client.jobs(limit=2, order="asc")] == made


def test_only_the_last_page_ends_a_listing() -> None:
    pages = [
        {"jobs": [], "next_cursor": "a/b"},
        {"jobs": [JOB], "next_cursor": "c"},
        {"jobs": [], "next_cursor": None},
    ]
    transport = Scripted(*(answer(200, page) for page in pages))

    assert len(list(scripted_client(transport).jobs(type="email"))) == 1
    assert [request.path for request in transport.asked] == [
        "/jobs?type=email",
        "/jobs?type=email&cursor=a%2Fb",
        "/jobs?type=email&cursor=c",
    ]


def test_a_page_is_asked_for_when_it_is_needed() -> None:
    transport = Scripted(answer(200, {"jobs": [JOB], "next_cursor": "c"}))

    next(scripted_client(transport).jobs())

    assert len(transport.asked) == 1


def test_a_listing_is_filtered_by_everything_that_the_api_offers(
    clients: Clients, clock: FakeClock
) -> None:
    client = clients["producer"]
    client.enqueue("pdf")
    clock.advance(10)
    email = client.enqueue("email", priority="low")
    (held,) = clients["worker"].claim(["email"]).jobs

    filters = {"type": "email", "priority": "low", "status": "running", "worker_id": "mailer"}
    since = email.created_at.astimezone(timezone(timedelta(hours=2)))

    assert [job.id for job in client.jobs(**filters, created_after=since)] == [held.id]
    assert list(client.jobs(**filters, producer_id="blog")) == []
    with pytest.raises(ValidationFailed):
        list(client.jobs(colour="red"))


def test_a_job_is_read_by_those_who_may_see_it(clients: Clients) -> None:
    job = clients["producer"].enqueue("email")

    assert clients["producer"].get(job.id) == job
    for key, job_id in (("other-producer", job.id), ("producer", 99), ("producer", 0)):
        with pytest.raises(NotFound):
            clients[key].get(job_id)


def test_cancelling_ends_a_pending_job_and_asks_a_running_one(clients: Clients) -> None:
    client = clients["producer"]
    running, pending = client.enqueue("email"), client.enqueue("email")
    clients["worker"].claim()

    assert client.cancel(pending.id).status == "cancelled"
    asked = client.cancel(running.id)
    assert (asked.status, asked.cancel_requested_at) == ("running", NOON)
    assert client.cancel(running.id) == asked


def test_cancelling_a_completed_job_is_a_conflict(clients: Clients) -> None:
    job = clients["producer"].enqueue("email")
    clients["worker"].complete(clients["worker"].claim().jobs[0])

    with pytest.raises(Conflict):
        clients["producer"].cancel(job.id)


def test_stats_and_whoami_are_what_the_api_answers(clients: Clients) -> None:
    clients["producer"].enqueue("email")

    assert clients["admin"].stats()["types"]["email"]["pending"] == 1
    assert clients["worker"].whoami()["name"] == "mailer"


def test_fields_of_a_newer_server_are_left_out() -> None:
    transport = Scripted(
        answer(200, JOB | {"colour": "red"}),
        answer(200, {"matched": 1, "redriven": 1, "more": False, "skipped": 0}),
    )
    client = scripted_client(transport, Pauses())

    assert client.get(7)._asdict().keys() == JOB.keys()
    assert client.redrive_many() == Redriven(1, 1, more=False)


@pytest.mark.parametrize("document", [None, [], "done", 7])
def test_a_success_that_is_no_json_object_is_a_server_error(document: object) -> None:
    with pytest.raises(ServerError) as raised:
        scripted_client(Scripted(answer(200, document))).get(7)
    assert not isinstance(raised.value, Refused)
    assert raised.value.status == 200
