"""Many jobs in one call: cut into requests that may each be sent twice, one result a job."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from queuelog_core.client import (
    BatchResult,
    NoAnswer,
    Request,
    Response,
    Transport,
    ValidationFailed,
    new_job,
)
from queuelog_core.client.client import Client
from queuelog_core.http.in_process import in_process
from tests.client.clients import Clients
from tests.client.scripted import Pauses, answer
from tests.support.http import Api

BIG = "x" * 60_000


def deep(levels: int) -> dict[str, Any]:
    """An object in an object, so many times."""
    return {"in": deep(levels - 1)} if levels else {}


class Recorded:
    """Another transport, with the jobs of each request; every `lose`-th answer gets lost."""

    def __init__(self, inner: Transport, lose: int = 0) -> None:
        self.inner = inner
        self.lose = lose
        self.bodies: list[bytes] = []

    def __call__(self, request: Request) -> Response:
        self.bodies.append(request.body)
        response = self.inner(request)
        if self.lose and len(self.bodies) % self.lose:
            raise NoAnswer("lost")
        return response

    def jobs(self) -> list[list[Any]]:
        return [json.loads(body)["jobs"] for body in self.bodies]


def recorded(api: Api, lose: int = 0) -> tuple[Client, Recorded]:
    transport = Recorded(in_process(api.client.application), lose)
    return Client(key="producer", transport=transport, patience=Pauses().patience()), transport


def test_every_job_has_a_result_and_a_bad_one_stops_no_other(clients: Clients) -> None:
    client = clients["producer"]
    jobs = [new_job("email"), new_job("fax"), new_job("pdf", priority="critical"), new_job("sync")]

    made, fax, critical, last = client.enqueue_many(jobs)

    assert (made, last) == (BatchResult(0, 201, 1), BatchResult(3, 201, 2))
    assert (fax.index, fax.status, fax.id) == (1, 422, None)
    assert fax.error is not None
    assert fax.error["code"] == "validation-failed"
    assert critical.error is not None
    assert (critical.status, critical.error["code"]) == (403, "priority-not-allowed")


def test_a_key_that_is_known_is_told_by_its_result(clients: Clients) -> None:
    client = clients["producer"]
    client.enqueue("email", idempotency_key="k")

    same, other = client.enqueue_many(
        [new_job("email", idempotency_key="k"), new_job("pdf", idempotency_key="k")]
    )

    assert (same.id, same.status, same.replayed, same.payload_mismatch) == (1, 200, True, False)
    assert (other.id, other.replayed, other.payload_mismatch) == (1, True, True)


def test_a_request_holds_a_hundred_jobs_and_the_index_counts_over_all(api: Api) -> None:
    client, transport = recorded(api)
    jobs = (new_job("email" if n != 150 else "fax", {"n": n}) for n in range(201))

    results = list(client.enqueue_many(jobs))

    assert [len(sent) for sent in transport.jobs()] == [100, 100, 1]
    assert [result.index for result in results] == list(range(201))
    assert [result.index for result in results if result.status != 201] == [150]


def test_a_request_stays_below_what_a_server_takes(api: Api) -> None:
    client, transport = recorded(api)

    results = list(client.enqueue_many(new_job("email", {"é": BIG}) for _ in range(40)))

    assert [len(sent) for sent in transport.jobs()] == [16, 16, 8]
    assert all(len(body) <= 1 << 20 for body in transport.bodies)
    assert {result.status for result in results} == {201}


def test_size_is_counted_in_bytes_and_not_in_characters(api: Api) -> None:
    client, transport = recorded(api)

    assert all(
        result.status == 201
        for result in client.enqueue_many(new_job("email", {"x": "é" * 30_000}) for _ in range(20))
    )
    assert [len(sent) for sent in transport.jobs()] == [16, 4]


def test_a_job_that_no_request_can_hold_stops_no_other(clients: Clients) -> None:
    jobs = [new_job("email"), new_job("email", {"x": "x" * 1_100_000}), new_job("pdf")]

    before, too_large, after = clients["producer"].enqueue_many(jobs)

    assert (before.status, after.status) == (201, 201)
    assert (too_large.index, too_large.status, too_large.id) == (1, 413, None)
    assert too_large.error is not None
    assert too_large.error["code"] == "payload-too-large"
    assert after.index == 2


def test_what_a_gateway_finds_too_large_is_sent_job_by_job(api: Api) -> None:
    inner = in_process(api.client.application)

    def gateway(request: Request) -> Response:
        return answer(413) if request.body.count(b'"type"') > 1 else inner(request)

    client = Client(key="producer", transport=gateway, patience=Pauses().patience())

    assert [made.status for made in client.enqueue_many([new_job("email")] * 3)] == [201, 200, 200]


@pytest.mark.parametrize(
    "payload", [deep(70), {1: "a", "1": "b"}], ids=["too deep", "a name twice"]
)
def test_a_job_for_which_its_whole_request_is_refused_stops_no_other(
    clients: Clients, payload: Any
) -> None:
    jobs = [new_job("email"), new_job("email", payload), new_job("pdf")]

    before, refused, after = clients["producer"].enqueue_many(jobs)

    assert (before.status, after.status) == (201, 201)
    assert (refused.index, refused.id) == (1, None)
    assert refused.status in (400, 422)
    assert refused.error is not None
    assert refused.error["code"] in ("invalid-json", "validation-failed")
    assert after.index == 2


def test_nothing_is_sent_before_a_result_is_asked_for(api: Api) -> None:
    client, transport = recorded(api)
    taken: list[int] = []

    def jobs() -> Iterator[dict[str, Any]]:
        for n in range(300):
            taken.append(n)
            yield new_job("email")

    results = client.enqueue_many(jobs())
    assert (taken, transport.bodies) == ([], [])
    next(results)
    assert (len(taken), len(transport.bodies)) == (101, 1)


def test_no_jobs_are_no_request(api: Api) -> None:
    client, transport = recorded(api)

    assert list(client.enqueue_many([])) == []
    assert transport.bodies == []


def test_jobs_without_a_key_are_made_once_though_answers_get_lost(
    api: Api, clients: Clients
) -> None:
    client, transport = recorded(api, lose=3)

    results = list(client.enqueue_many({"type": "email"} for _ in range(150)))

    assert len(transport.bodies) == 6
    assert transport.bodies[0] == transport.bodies[1] == transport.bodies[2]
    assert len({result.id for result in results}) == 150
    assert all(result.replayed for result in results)
    assert len(list(clients["producer"].jobs(limit=200))) == 150


def test_a_new_job_holds_what_was_asked_and_a_key_of_its_own() -> None:
    at = datetime(2026, 11, 29, 12, tzinfo=UTC)
    one, two = new_job("email"), new_job("email", {}, run_at=at, max_retries=0)

    assert one.keys() == {"type", "idempotency_key"}
    assert one["idempotency_key"] != two["idempotency_key"]
    assert (two["run_at"], two["max_retries"]) == ("2026-11-29T12:00:00+00:00", 0)
    assert two["payload"] == {}


def test_a_key_that_is_empty_is_no_key_of_the_clients(clients: Clients) -> None:
    client = clients["producer"]
    empty, good = client.enqueue_many([new_job("email", idempotency_key=""), new_job("email")])

    assert (empty.status, empty.id, good.status) == (422, None, 201)
    with pytest.raises(ValidationFailed, match="idempotency_key"):
        client.enqueue("email", idempotency_key="")
    assert len(list(client.jobs())) == 1
