"""When a call is sent again, after which pause, and what it ends in when its time is spent."""

import json
import random

import pytest

from queuelog_core.client import (
    Client,
    ClientError,
    RateLimited,
    Refused,
    Request,
    Response,
    ServerError,
    StoreBusy,
    Unreachable,
)
from queuelog_core.client.retries import retry_after_seconds, send
from tests.client.scripted import JOB, NUMBERS, Pauses, Scripted, answer, scripted_client

REQUEST = Request("POST", "/jobs?x=1", {"Idempotency-Key": "k"}, b"{}")
DONE = answer(200, {})


@pytest.mark.parametrize(
    "lost",
    [None, *(answer(status) for status in (429, 500, 502, 503, 504))],
    ids=["no answer", "429", "a gateway's 500", "502", "503", "504"],
)
def test_what_may_pass_is_sent_again_as_the_very_same_request(lost: Response | None) -> None:
    transport = Scripted(lost, lost, DONE)

    assert send(transport, REQUEST, Pauses().patience()) == DONE
    assert transport.asked == [REQUEST] * 3


@pytest.mark.parametrize("status", [200, 201, 204, 301, 308, *range(400, 424), 500, 501, 505])
def test_any_other_status_is_an_answer_and_sent_once(status: int) -> None:
    own = answer(status, retry_after="1", x_request_id="of-the-api-itself")
    transport, pauses = Scripted(own), Pauses()

    assert send(transport, REQUEST, pauses.patience()).status == status
    assert (len(transport.asked), pauses.taken) == (1, [])


def test_an_enqueue_without_a_key_repeats_the_one_that_it_made() -> None:
    transport = Scripted(None, answer(503), answer(201, JOB))

    scripted_client(transport).enqueue("email")
    scripted_client(transport).enqueue("email")

    keys = [json.loads(request.body)["idempotency_key"] for request in transport.asked]
    assert len(keys[0]) == 32
    assert keys[0] == keys[1] == keys[2] != keys[3]


def test_a_claim_repeats_the_key_that_it_made() -> None:
    transport = Scripted(None, answer(200, {"jobs": [JOB], "next_due_in_seconds": None}))
    client = scripted_client(transport)

    client.claim()
    client.claim()

    keys = [request.headers["Idempotency-Key"] for request in transport.asked]
    assert keys[0] == keys[1] != keys[2]


def test_pauses_double_up_to_eight_seconds() -> None:
    transport, pauses = Scripted(*[None] * 8, DONE), Pauses()

    send(transport, REQUEST, pauses.patience())

    assert pauses.taken == [0.25, 0.5, 1, 2, 4, 8, 8, 8]


def test_pauses_are_drawn_from_nothing_up_to_their_bound() -> None:
    drawn = iter([0.0, 0.5, 0.25, 1.0])
    transport, pauses = Scripted(*[None] * 4, DONE), Pauses(lambda: next(drawn))

    send(transport, REQUEST, pauses.patience())

    assert pauses.taken == [0, 0.25, 0.25, 2]


@pytest.mark.parametrize(("told", "pause"), [("3", 3.0), ("0", 0.25), ("00007", 7.0)])
def test_a_call_is_never_sent_again_before_retry_after(told: str, pause: float) -> None:
    transport, pauses = Scripted(answer(503, retry_after=told), DONE), Pauses()

    send(transport, REQUEST, pauses.patience())

    assert pauses.taken == [pause]


@pytest.mark.parametrize("seed", range(20))
def test_no_draw_makes_a_pause_shorter_than_retry_after_or_the_call_longer_than_its_time(
    seed: int,
) -> None:
    pauses = Pauses(random.Random(seed).random)
    transport = Scripted(answer(429, retry_after="2"))

    send(transport, REQUEST, pauses.patience(30))

    assert all(2 <= pause <= 8 for pause in pauses.taken)
    assert 22 <= sum(pauses.taken) < 30


def test_a_pause_that_does_not_fit_into_the_budget_is_not_begun() -> None:
    transport, pauses = Scripted(answer(503, retry_after="61")), Pauses()

    assert send(transport, REQUEST, pauses.patience(60)).status == 503
    assert (len(transport.asked), pauses.taken) == (1, [])


@pytest.mark.parametrize("draw", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("lost", [None, answer(503)], ids=["no answer", "503"])
def test_without_a_budget_a_call_is_sent_once(draw: float, lost: Response | None) -> None:
    transport = Scripted(lost)
    client = scripted_client(transport, Pauses(lambda: draw))

    with pytest.raises(Unreachable):
        client.with_budget(0).stats()
    assert len(transport.asked) == 1


def test_a_shorter_budget_is_that_of_the_twin_alone() -> None:
    transport, pauses = Scripted(None, answer(200, NUMBERS)), Pauses()
    client = scripted_client(transport, pauses)

    client.with_budget(0)

    assert client.stats() == NUMBERS
    assert pauses.taken == [0.25]


def test_nobody_there_for_the_whole_budget_is_unreachable_and_says_what_was_asked() -> None:
    pauses = Pauses()

    with pytest.raises(Unreachable, match=r"^POST /jobs: ConnectionError$") as raised:
        send(Scripted(None), REQUEST, pauses.patience(20))
    assert not isinstance(raised.value, ServerError)
    assert raised.value.retry_after_seconds == 0
    assert sum(pauses.taken) == 15.75


@pytest.mark.parametrize(
    ("status", "problem", "kind"),
    [
        (429, None, RateLimited),
        (502, None, ServerError),
        (504, {"message": "Endpoint request timed out"}, ServerError),
        (503, {"code": "store-busy"}, StoreBusy),
    ],
)
def test_the_last_answer_tells_what_a_spent_budget_ends_in(
    status: int, problem: object, kind: type[ClientError]
) -> None:
    client = scripted_client(Scripted(None, answer(status, problem, retry_after="4")))

    with pytest.raises(kind) as raised:
        client.stats()
    assert type(raised.value) is kind
    assert isinstance(raised.value, Unreachable)
    assert raised.value.retry_after_seconds == 4


def test_a_500_is_a_server_error_at_once() -> None:
    transport = Scripted(answer(500, {"code": "internal-error"}, retry_after="9", x_request_id="1"))

    with pytest.raises(ServerError) as raised:
        scripted_client(transport).stats()
    assert (raised.value.status, raised.value.retry_after_seconds) == (500, 9)
    assert len(transport.asked) == 1


def test_a_refusal_after_lost_answers_is_a_refusal() -> None:
    transport = Scripted(None, answer(409, {"code": "lease-lost"}))

    with pytest.raises(Refused):
        scripted_client(transport).stats()
    assert len(transport.asked) == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("4", 4.0),
        ("99999", 99999.0),
        ("100000", 0.0),
        ("", 0.0),
        ("-1", 0.0),
        ("1.5", 0.0),
        ("\u0663", 0.0),
        ("\u00b2", 0.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_counts_when_it_is_whole_seconds(text: str, seconds: float) -> None:
    assert retry_after_seconds({"retry-after": text}) == seconds


def test_an_answer_without_retry_after_asks_for_no_pause() -> None:
    assert retry_after_seconds({}) == 0


def test_a_client_goes_on_trying_for_as_long_as_it_is_told() -> None:
    transport, pauses = Scripted(None), Pauses()
    client: Client = scripted_client(transport, pauses, budget_seconds=1)

    with pytest.raises(Unreachable):
        client.stats()
    assert pauses.taken == [0.25, 0.5]
