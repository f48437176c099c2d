"""JSON that is no answer of queuelog's: a call ends in ServerError, whatever it says."""

from collections.abc import Callable
from typing import Any

import pytest

from queuelog_core.client import Client, ClientError, Job, ServerError, new_job
from tests.client.scripted import JOB, Scripted, answer, scripted_client

HELD = Job.from_json(JOB)
CALLS: dict[str, Callable[[Client], object]] = {
    "enqueue": lambda client: client.enqueue("email"),
    "enqueue_many": lambda client: list(client.enqueue_many([new_job("email")])),
    "get": lambda client: client.get(7),
    "jobs": lambda client: list(client.jobs()),
    "attempts": lambda client: client.attempts(7),
    "wait": lambda client: client.wait(7),
    "cancel": lambda client: client.cancel(7),
    "redrive": lambda client: client.redrive(7),
    "redrive_many": lambda client: client.redrive_many(),
    "stats": lambda client: client.stats(),
    "whoami": lambda client: client.whoami(),
    "claim": lambda client: client.claim(),
    "complete": lambda client: client.complete(HELD),
    "fail": lambda client: client.fail(HELD),
    "release": lambda client: client.release(HELD),
    "heartbeat": lambda client: client.heartbeat(HELD),
}
ODD: list[Any] = [
    {},
    {"ok": True},
    {"jobs": 7, "attempts": None, "results": 7},
    {"jobs": ["x"], "attempts": ["x"], "results": ["x"]},
    {"jobs": [{}], "attempts": [{}], "results": [{}], "next_cursor": None},
    JOB | {"created_at": 7, "lease_expires_at": "soon"},
]


@pytest.mark.parametrize("document", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("call", CALLS)
def test_an_answer_of_another_shape_is_a_server_error(call: str, document: Any) -> None:
    client = scripted_client(Scripted(answer(200, document, x_request_id="r-1")))

    with pytest.raises(ServerError, match=r"200 .*The answer is not one of queuelog's\.") as raised:
        CALLS[call](client)
    assert (raised.value.status, raised.value.request_id) == (200, "r-1")


def test_there_is_a_row_for_every_call() -> None:
    others = {"close", "with_budget"}

    assert {name for name in vars(Client) if name[0] != "_"} - others == CALLS.keys()


MADE = {"index": 0, "status": 201, "id": 1, "replayed": False, "payload_mismatch": False}


@pytest.mark.parametrize(
    "results",
    [
        [],
        [MADE],
        [MADE, MADE],
        [MADE, MADE | {"index": 1}, MADE | {"index": 2}],
        [MADE, {"index": 1, "status": 200}],
        [MADE, {"index": 1, "status": 422, "error": "no"}],
        [MADE, MADE | {"index": 1, "id": "two"}],
    ],
)
def test_a_batch_answers_for_exactly_its_jobs(results: list[Any]) -> None:
    client = scripted_client(Scripted(answer(200, {"results": results})))

    with pytest.raises(ServerError, match="not one of queuelog's"):
        next(client.enqueue_many([new_job("email"), new_job("pdf")]))


@pytest.mark.parametrize("named", [{"id": 7}, ["r-1"], 7, None, ""])
def test_a_request_id_is_text_or_none(named: Any) -> None:
    client = scripted_client(Scripted(answer(418, {"request_id": named})))

    with pytest.raises(ClientError) as raised:
        client.stats()
    assert not getattr(raised.value, "request_id")  # noqa: B009
