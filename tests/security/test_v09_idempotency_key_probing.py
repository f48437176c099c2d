"""V-09: a guessed key was answered with somebody's job; now a key is looked for among the caller's
own, and another's is answered like one that nobody ever used."""

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.stores import open_store
from tests.support.factories import FakeClock
from tests.support.http import Api, json_of

KNOWN, FRESH = "order-4711", "order-4712"
SAME_REQUEST = {"X-Request-Id": "same"}
SECRET = "canary77"
VICTIM = {"type": "email", "payload": {"to": SECRET}, "idempotency_key": KNOWN}


def pending(api: Api) -> None:
    api.enqueue(payload={"to": SECRET}, idempotency_key=KNOWN)


def running(api: Api) -> None:
    pending(api)
    api.claim()


def completed(api: Api) -> None:
    pending(api)
    api.report("complete", api.claim(), result=SECRET)


def failed(api: Api) -> None:
    pending(api)
    api.report("fail", api.claim(), error=SECRET, error_code="victim", retryable=False)


def sent_by_header(api: Api) -> None:
    body = {"type": "email", "payload": {"to": SECRET}}
    api.call("POST", "/jobs", "producer", body, headers={"Idempotency-Key": KNOWN})


every_state = pytest.mark.parametrize("state", [pending, running, completed, failed])
State = Callable[[Api], None]
BODIES: list[dict[str, Any]] = [
    {"type": "email", "payload": {"to": SECRET}},
    {"type": "email"},
    {"type": "pdf", "payload": {"other": 1}},
    {"type": "email", "priority": "low", "max_retries": 0},
]
REFUSED: list[dict[str, Any]] = [
    {"type": "shutdown"},
    {"type": "email", "priority": "critical"},
    {"type": "email", "max_retries": 26},
    {"type": "email", "payload": []},
    {"type": "email", "unknown": 1},
]


def probe(api: Api, key: str, way: str, idempotency_key: str, body: Any) -> TestResponse:
    if way == "header":
        headers = SAME_REQUEST | {"Idempotency-Key": idempotency_key}
        return api.call("POST", "/jobs", key, body, headers=headers)
    body = body | {"idempotency_key": idempotency_key}
    return api.call("POST", "/jobs", key, body, headers=SAME_REQUEST)


def told(reply: TestResponse) -> Any:
    """All that an answer tells but the new id and the key that was sent."""
    document = json_of(reply)
    number = document.pop("id", None)
    document.pop("idempotency_key", None)
    headers = dict(reply.headers)
    if reply.status_code == 201:
        assert headers.pop("Location") == f"/jobs/{number}"
    return reply.status_code, headers, document


@every_state
@pytest.mark.parametrize("way", ["header", "body"])
@pytest.mark.parametrize("body", BODIES, ids=str)
@pytest.mark.parametrize("key", ["other-producer", "admin"])
def test_anothers_key_is_answered_like_a_fresh_one(
    api: Api, state: State, way: str, body: Any, key: str
) -> None:
    state(api)

    known = probe(api, key, way, KNOWN, body)
    fresh = probe(api, key, way, FRESH, body)

    assert known.status_code == 201
    assert told(known) == told(fresh)


@every_state
def test_the_answer_is_that_of_a_queue_that_has_never_seen_the_key(
    api: Api, tmp_path: Any, state: State
) -> None:
    """Another store, in which the victim used another key."""
    other_store = open_store(f"sqlite:///{tmp_path}/other.db")
    other = Api(other_store, FakeClock())
    other.enqueue(idempotency_key="another")
    state(api)

    here = probe(api, "other-producer", "header", KNOWN, {"type": "email"})
    there = probe(other, "other-producer", "header", KNOWN, {"type": "email"})

    other_store.close()
    assert (here.data, here.headers) == (there.data, there.headers)


@pytest.mark.parametrize("way", ["header", "body"])
@pytest.mark.parametrize("key", ["other-producer", "email-producer"])
@pytest.mark.parametrize("body", REFUSED, ids=str)
def test_a_refusal_does_not_tell_a_known_key_from_a_fresh_one(
    api: Api, key: str, way: str, body: Any
) -> None:
    pending(api)

    known = probe(api, key, way, KNOWN, body)
    fresh = probe(api, key, way, FRESH, body)

    assert known.status_code in (403, 422)
    assert (known.data, known.headers) == (fresh.data, fresh.headers)


@every_state
@pytest.mark.parametrize("way", ["header", "body"])
def test_the_victims_job_is_neither_told_nor_touched(api: Api, state: State, way: str) -> None:
    state(api)
    before = api.get({"id": 1})

    reply = probe(api, "other-producer", way, KNOWN, {"type": "email"})

    assert json_of(reply)["id"] == 2
    assert SECRET.encode() not in reply.data
    assert api.get({"id": 1}) == before


@every_state
def test_the_victim_still_finds_its_own_job(api: Api, state: State) -> None:
    state(api)
    probe(api, "other-producer", "body", KNOWN, {"type": "pdf"})
    probe(api, "admin", "header", KNOWN, {"type": "pdf"})

    reply = api.call("POST", "/jobs", "producer", VICTIM)

    assert (reply.status_code, json_of(reply)["id"]) == (200, 1)
    assert "Idempotency-Payload-Mismatch" not in reply.headers


def test_a_key_taken_first_by_another_is_free_for_the_victim(api: Api) -> None:
    probe(api, "other-producer", "body", KNOWN, {"type": "pdf"})

    reply = api.call("POST", "/jobs", "producer", VICTIM)

    assert reply.status_code == 201
    assert json_of(reply)["payload"] == {"to": SECRET}


@pytest.mark.parametrize("place", [pending, sent_by_header])
@pytest.mark.parametrize("guess", ["order-*", "order-%", "order-471_", "order", "ORDER-4711", "*"])
def test_a_guess_is_no_pattern_even_for_its_owner(api: Api, place: State, guess: str) -> None:
    place(api)

    reply = probe(api, "producer", "body", guess, {"type": "email"})

    assert (reply.status_code, json_of(reply)["id"]) == (201, 2)


@pytest.mark.parametrize("name", ["idempotency_key", "Idempotency-Key", "key", "q", "search"])
@pytest.mark.parametrize("key", ["producer", "other-producer", "worker", "admin"])
@pytest.mark.parametrize("value", [KNOWN, FRESH])
def test_no_list_can_be_asked_for_a_key(api: Api, key: str, name: str, value: str) -> None:
    pending(api)

    reply = api.call("GET", f"/jobs?{name}={value}", key)

    assert reply.status_code == 422
    assert KNOWN.encode() not in reply.data


@every_state
@pytest.mark.parametrize("key", ["other-producer", "worker", "other-worker", "pdf-worker"])
@pytest.mark.parametrize("path", ["/jobs", "/jobs/1", "/stats", "/whoami"])
def test_no_reader_but_the_owner_and_admins_is_shown_a_key(
    api: Api, state: State, path: str, key: str
) -> None:
    state(api)

    reply = api.call("GET", path, key)

    assert KNOWN.encode() not in reply.data


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_worker_is_not_shown_the_key_of_what_it_runs(api: Api, verb: str) -> None:
    pending(api)

    claimed = api.call("POST", "/jobs/claim", "worker", {})
    reported = api.report(verb, json_of(claimed))

    assert [claimed.status_code, reported.status_code] == [200, 200]
    assert KNOWN.encode() not in claimed.data + reported.data


@pytest.mark.parametrize("key", ["worker", "stranger", None])
def test_who_may_not_enqueue_learns_nothing_from_a_key(api: Api, key: str | None) -> None:
    pending(api)

    known, fresh = (
        api.call("POST", "/jobs", key, VICTIM | {"idempotency_key": sent}, headers=SAME_REQUEST)
        for sent in (KNOWN, FRESH)
    )

    assert known.status_code in (401, 403)
    assert (known.data, known.headers) == (fresh.data, fresh.headers)
