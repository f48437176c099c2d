"""What the calls of workers mean, and waiting for what they do, against a real store."""

from datetime import timedelta

import pytest

from queuelog_core.client import AlreadyReported, Claimed, Conflict, Job, LeaseLost, NotOwner
from tests.client.clients import NOON, Clients
from tests.client.scripted import Scripted, answer, scripted_client
from tests.support.factories import FakeClock


def claimed(clients: Clients) -> Job:
    """A new job, held by `worker`."""
    clients["producer"].enqueue("email")
    (job,) = clients["worker"].claim().jobs
    return job


def test_a_claim_takes_one_job_of_its_types_unless_it_asks_for_more(clients: Clients) -> None:
    made = [clients["producer"].enqueue(name).id for name in ("email", "pdf", "pdf", "pdf")]
    worker = clients["worker"]

    assert [job.id for job in worker.claim(["pdf"]).jobs] == made[1:2]
    assert [job.id for job in worker.claim(limit=10).jobs] == [made[0], *made[2:]]


def test_a_claimed_job_is_held_for_the_lease_that_was_asked(clients: Clients) -> None:
    clients["producer"].enqueue("email")

    (job,) = clients["worker"].claim(lease_seconds=30).jobs

    assert (job.status, job.worker_id, job.attempt) == ("running", "mailer", 1)
    assert (job.claimed_at, job.lease_expires_at) == (NOON, NOON + timedelta(seconds=30))


def test_an_empty_claim_says_when_to_ask_again_or_that_nothing_is_left(clients: Clients) -> None:
    assert clients["worker"].claim() == Claimed([], None)

    clients["producer"].enqueue("email", delay_seconds=7)

    assert clients["worker"].claim() == Claimed([], 7)


def test_a_claim_with_the_key_of_another_gets_the_same_jobs(clients: Clients) -> None:
    for _ in range(2):
        clients["producer"].enqueue("email")
    worker = clients["worker"]

    first = worker.claim(idempotency_key="k")

    assert worker.claim(idempotency_key="k").jobs == first.jobs
    assert worker.claim().jobs[0].id != first.jobs[0].id


@pytest.mark.parametrize("key", ["é", "日本 😀", "…", "a b", "k" * 255, "ÿ" * 255])
def test_a_claim_may_have_any_key_that_the_server_takes(clients: Clients, key: str) -> None:
    for _ in range(2):
        clients["producer"].enqueue("email")
    worker = clients["worker"]

    first = worker.claim(idempotency_key=key).jobs

    assert worker.claim(idempotency_key=key).jobs == first
    assert worker.claim(idempotency_key=f"{key[1:]}!").jobs != first


@pytest.mark.parametrize("key", ["", "a\nb", "a\r\nX-API-Key: b", "\x00", "\x7f", "\x85", "\udce9"])
def test_a_key_that_no_header_can_hold_is_refused_before_it_is_sent(key: str) -> None:
    transport = Scripted(answer(200, {}))

    with pytest.raises(ValueError, match="printable characters"):
        scripted_client(transport).claim(idempotency_key=key)
    assert transport.asked == []


@pytest.mark.parametrize("result", [None, {"é": 1}, [], 0, False, ""])
def test_a_result_comes_back_as_it_was_sent(clients: Clients, result: object) -> None:
    job = claimed(clients)

    done = clients["worker"].complete(job, result)

    assert (done.status, done.is_finished, done.finished_at) == ("completed", True, NOON)
    assert done.result == result
    assert clients["worker"].complete(job, result) == done
    assert clients["producer"].get(job.id).result == result


def test_a_failure_is_recorded_and_the_job_is_tried_again(clients: Clients) -> None:
    job = clients["worker"].fail(claimed(clients), "smtp down", "smtp_down", retry_in_seconds=90)

    assert (job.status, job.retry_count, job.error_code) == ("pending", 1, "smtp_down")
    assert job.run_at == NOON + timedelta(seconds=90)
    assert job.error is None
    assert clients["admin"].get(job.id).error == "smtp down"


def test_a_failure_that_no_retry_can_mend_ends_the_job(clients: Clients) -> None:
    job = clients["worker"].fail(claimed(clients), retryable=False)

    assert (job.status, job.retry_count) == ("failed", 0)


def test_a_released_job_has_spent_no_retry(clients: Clients) -> None:
    job = clients["worker"].release(claimed(clients), 5)

    assert (job.status, job.retry_count, job.release_count) == ("pending", 0, 1)
    assert job.run_at == NOON + timedelta(seconds=5)
    assert clients["worker"].release(claimed(clients)).run_at == NOON


def test_a_heartbeat_extends_the_lease_and_tells_of_a_cancel(
    clients: Clients, clock: FakeClock
) -> None:
    job = claimed(clients)
    clock.advance(100)

    lease = clients["worker"].heartbeat(job)
    assert lease.lease_expires_at == NOON + timedelta(seconds=400)
    assert (lease.lease_seconds_remaining, lease.cancel_requested) == (300, False)

    clients["producer"].cancel(job.id)
    asked = clients["worker"].heartbeat(job, 500)
    assert (asked.lease_seconds_remaining, asked.cancel_requested) == (500, True)


@pytest.mark.parametrize("verb", ["complete", "fail", "release", "heartbeat"])
def test_a_report_names_its_attempt_so_that_a_stale_worker_changes_nothing(
    clients: Clients, clock: FakeClock, verb: str
) -> None:
    stale = claimed(clients)
    clock.advance(301)
    (held,) = clients["worker"].claim().jobs

    with pytest.raises(LeaseLost):
        getattr(clients["worker"], verb)(stale)
    with pytest.raises(NotOwner):
        getattr(clients["other-worker"], verb)(held)
    assert clients["worker"].get(held.id) == held


def test_two_reports_of_one_attempt_are_a_conflict(clients: Clients) -> None:
    job = claimed(clients)
    clients["worker"].complete(job)

    with pytest.raises(AlreadyReported) as raised:
        clients["worker"].fail(job)
    assert isinstance(raised.value, Conflict)


def test_the_attempts_of_a_job_are_told_with_their_times(clients: Clients) -> None:
    job = claimed(clients)
    clients["worker"].fail(job, "smtp down", "smtp_down")
    clients["worker"].claim()

    (failed, running), dropped = clients["admin"].attempts(job.id)

    assert dropped == 0
    assert (failed.attempt, failed.worker_id, failed.outcome) == (1, "mailer", "failed")
    assert (failed.claimed_at, failed.ended_at) == (NOON, NOON)
    assert (failed.error_code, failed.error) == ("smtp_down", "smtp down")
    assert (running.attempt, running.ended_at, running.outcome) == (2, None, None)
    assert clients["producer"].attempts(job.id).attempts[0].error is None


def test_waiting_for_a_finished_job_takes_no_time(clients: Clients) -> None:
    job = clients["worker"].complete(claimed(clients), {"sent": True})

    assert clients["producer"].wait(job.id).result == {"sent": True}
    assert clients.pauses.taken == []


def test_waiting_ends_when_the_job_does(clients: Clients) -> None:
    job = claimed(clients)
    taken = clients.pauses.taken

    def finish_at_the_third() -> None:
        if len(taken) == 3:
            clients["worker"].fail(job, retryable=False)

    clients.pauses.after_each = finish_at_the_third

    assert clients["producer"].wait(job.id).status == "failed"
    assert taken == pytest.approx([0.1, 0.15, 0.225])


def test_waiting_gives_up_after_exactly_its_time(clients: Clients) -> None:
    job = claimed(clients)

    with pytest.raises(TimeoutError, match=f"job {job.id} is still running"):
        clients["producer"].wait(job.id, timeout_seconds=60)
    assert sum(clients.pauses.taken) == pytest.approx(60)
    assert max(clients.pauses.taken) == 5


def test_waiting_without_time_looks_once(clients: Clients) -> None:
    job = claimed(clients)

    with pytest.raises(TimeoutError):
        clients["producer"].wait(job.id, timeout_seconds=0)
    assert clients.pauses.taken == []
