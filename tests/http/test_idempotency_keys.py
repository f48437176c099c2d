"""What an idempotency key may be, whose it is, and how long it lives."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.http import Api, faults, json_of

RETENTION_SECONDS = 30 * 86_400


def send(api: Api, key: str = "producer", header: str | None = None, **body: Any) -> TestResponse:
    headers = {} if header is None else {"Idempotency-Key": header.encode().decode("latin-1")}
    return api.call("POST", "/jobs", key, {"type": "email", **body}, headers=headers)


def test_header_and_body_name_the_same_key(api: Api) -> None:
    send(api, header="schlüssel-😀")

    by_body = send(api, idempotency_key="schlüssel-😀")
    by_both = send(api, header="schlüssel-😀", idempotency_key="schlüssel-😀")

    assert by_body.status_code == 200
    assert json_of(by_body)["id"] == 1
    assert by_both.status_code == 200
    assert json_of(by_both)["id"] == 1


def test_header_and_body_may_not_differ(api: Api) -> None:
    reply = send(api, header="a", idempotency_key="b")

    assert reply.status_code == 422
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


def test_the_header_is_taken_as_it_stands(api: Api) -> None:
    reply = send(api, header='"a, b"; c=%20')

    assert json_of(reply)["idempotency_key"] == '"a, b"; c=%20'


def test_keys_live_per_producer(api: Api) -> None:
    mine = send(api, idempotency_key="k")

    theirs = send(api, "other-producer", idempotency_key="k")
    admins = send(api, "admin", idempotency_key="k")

    assert [mine.status_code, theirs.status_code, admins.status_code] == [201, 201, 201]


@pytest.mark.parametrize("other", ["K", "k ", " k", "k\u200b", "к"])
def test_keys_are_compared_byte_for_byte(api: Api, other: str) -> None:
    send(api, idempotency_key="k")

    reply = send(api, idempotency_key=other)

    assert reply.status_code == 201


def test_composed_and_decomposed_characters_are_two_keys(api: Api) -> None:
    send(api, idempotency_key="\u00e9")

    reply = send(api, idempotency_key="e\u0301")

    assert reply.status_code == 201


@pytest.mark.parametrize("key", ["k", "k" * 255, "😀" * 255, "a b", "~"])
@pytest.mark.parametrize("form", ["header", "idempotency_key"])
def test_a_key_has_up_to_255_characters(api: Api, form: str, key: str) -> None:
    reply = send(api, **{form: key})

    assert reply.status_code == 201
    assert json_of(reply)["idempotency_key"] == key


@pytest.mark.parametrize("key", ["", "k" * 256, "😀" * 256, "a\x01", "a\tb", "a\x7f", "a\x85b"])
@pytest.mark.parametrize("form", ["header", "idempotency_key"])
def test_a_key_that_is_too_long_or_holds_control_characters_is_refused(
    api: Api, form: str, key: str
) -> None:
    reply = send(api, **{form: key})

    assert len(faults(reply)) == 1
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


def test_a_header_that_is_not_utf8_is_refused(api: Api) -> None:
    reply = api.call(
        "POST", "/jobs", "producer", {"type": "email"}, headers={"Idempotency-Key": "caf\xe9"}
    )

    assert len(faults(reply)) == 1


def test_a_null_key_is_none(api: Api) -> None:
    first = send(api, idempotency_key=None)

    again = send(api, idempotency_key=None)

    assert [first.status_code, again.status_code] == [201, 201]


def test_a_key_outlives_its_job_by_the_retention(api: Api) -> None:
    """B36: up to then every id that a repeat returns can be read."""
    send(api, idempotency_key="k")
    api.report("complete", api.claim())
    api.clock.advance(RETENTION_SECONDS)
    api.queue.purge(RETENTION_SECONDS, 100)

    reply = send(api, idempotency_key="k")

    assert reply.status_code == 200
    assert json_of(reply)["id"] == 1
    assert api.get({"id": 1})["status"] == "completed"


def test_a_key_is_free_after_the_retention_and_makes_a_new_id(api: Api) -> None:
    """B36."""
    send(api, idempotency_key="k")
    api.report("complete", api.claim())
    api.clock.advance(RETENTION_SECONDS + 0.001)
    api.queue.purge(RETENTION_SECONDS, 100)

    reply = send(api, idempotency_key="k")

    assert reply.status_code == 201
    assert json_of(reply)["id"] == 2


def test_the_key_of_an_unfinished_job_is_never_free(api: Api) -> None:
    send(api, idempotency_key="k")
    api.clock.advance(10 * RETENTION_SECONDS)
    api.queue.purge(RETENTION_SECONDS, 100)

    reply = send(api, idempotency_key="k")

    assert reply.status_code == 200
    assert json_of(reply)["id"] == 1
