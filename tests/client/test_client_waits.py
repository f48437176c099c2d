"""How long a wait goes on, and what it says when nobody answers."""

import pytest

from queuelog_core.client import Job, NotFound, Response, ServerError, StoreBusy, Unreachable
from tests.client.scripted import JOB, Pauses, Scripted, answer, scripted_client

RUNNING = answer(200, JOB)
DONE = answer(200, JOB | {"status": "completed"})
BUSY = answer(503, {"code": "store-busy"}, retry_after="1")


def waited(
    *answers: Response | None, timeout_seconds: float, budget_seconds: float = 60
) -> tuple[Job | BaseException, float]:
    """What a wait ends in, and the seconds that it took."""
    pauses = Pauses()
    client = scripted_client(Scripted(*answers), pauses, budget_seconds)
    try:
        return client.wait(7, timeout_seconds=timeout_seconds), sum(pauses.taken)
    except Exception as error:
        return error, sum(pauses.taken)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([None], "no answer: GET /jobs/7: ConnectionError"),
        ([BUSY], "no answer: 503 store-busy"),
        ([RUNNING], "job 7 is still running"),
    ],
    ids=["nobody there", "busy", "running"],
)
@pytest.mark.parametrize("timeout_seconds", [0, 10, 59, 60])
def test_a_wait_takes_no_longer_than_its_time_whoever_answers(
    answers: list[Response | None], words: str, timeout_seconds: float
) -> None:
    error, took = waited(*answers, timeout_seconds=timeout_seconds)

    assert isinstance(error, TimeoutError)
    assert str(error) == words
    assert took <= timeout_seconds


def test_a_wait_that_hears_no_more_says_what_it_saw_last() -> None:
    error, took = waited(RUNNING, RUNNING, None, timeout_seconds=30)

    assert isinstance(error, TimeoutError)
    assert str(error) == "job 7 was running; no answer: GET /jobs/7: ConnectionError"
    assert 15 < took <= 30


def test_a_wait_goes_on_when_the_server_is_back() -> None:
    job, _ = waited(RUNNING, None, BUSY, RUNNING, None, DONE, timeout_seconds=20)

    assert isinstance(job, Job)
    assert job.status == "completed"


@pytest.mark.parametrize(("lost", "kind"), [(None, Unreachable), (BUSY, StoreBusy)])
def test_a_server_that_is_away_for_the_budget_of_a_call_ends_a_longer_wait(
    lost: Response | None, kind: type[Exception]
) -> None:
    error, took = waited(RUNNING, lost, timeout_seconds=300, budget_seconds=20)

    assert type(error) is kind
    assert took < 21


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [(answer(404, {"code": "not-found"}), NotFound), (answer(500, x_request_id="1"), ServerError)],
)
def test_an_answer_that_will_not_change_ends_a_wait_at_once(
    refusal: Response, kind: type[Exception]
) -> None:
    error, took = waited(refusal, timeout_seconds=10)

    assert (type(error), took) == (kind, 0)
