"""What the Idempotency-Key of a claim may be, whose it is, and what an identity whose powers were
narrowed still gets by it. What a repeat gets is in test_claim_by_key.py."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, worker
from tests.support.http import KEYS, Api, assert_problem, faults, json_of, plain_types


def send(api: Api, header: str = "k", key: str = "worker", **body: Any) -> TestResponse:
    """The header as bytes in Latin-1's clothes, as WSGI hands it on."""
    headers = {"Idempotency-Key": header.encode().decode("latin-1")}
    return api.call("POST", "/jobs/claim", key, body, headers=headers)


def types_of(reply: TestResponse) -> list[str]:
    return [job["type"] for job in json_of(reply)["jobs"]]


def replayed(reply: TestResponse) -> bool:
    return "Idempotent-Replayed" in reply.headers


def may_run(monkeypatch: pytest.MonkeyPatch, *types: str) -> None:
    monkeypatch.setitem(KEYS, "worker", worker(types=frozenset(types)))


@pytest.fixture
def claimed(api: Api) -> Api:
    """An email and a pdf, claimed with the key; another one of each is due."""
    for _ in range(2):
        api.enqueue(job_type="email")
        api.enqueue(job_type="pdf")
    assert types_of(send(api, limit=2)) == ["email", "pdf"]
    return api


@pytest.mark.parametrize(
    "key", ["k", "k" * 255, "😀" * 255, "schlüssel-😀", "a b", '"a, b"; c=%20']
)
def test_a_key_has_up_to_255_characters_of_utf8(api: Api, key: str) -> None:
    api.enqueue()
    api.enqueue()

    first, again = send(api, key), send(api, key)

    assert (first.status_code, replayed(first)) == (200, False)
    assert (again.data, replayed(again)) == (first.data, True)


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("key", ["", "k" * 256, "😀" * 256, "a\x01", "a\tb", "a\x7f", "a\x85b"])
def test_a_key_that_is_empty_too_long_or_holds_control_characters_claims_nothing(
    api: Api, key: str, limit: int | None
) -> None:
    api.enqueue()

    assert faults(send(api, key, limit=limit)) == [("Idempotency-Key", "wrong-format")]
    assert api.get({"id": 1})["status"] == "pending"


@pytest.mark.parametrize("header", ["caf\xe9", "\xff", "\xf0\x9f\x98", "\xed\xa0\x80"])
def test_a_key_that_is_not_utf8_claims_nothing(api: Api, header: str) -> None:
    api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", {}, headers={"Idempotency-Key": header})

    assert faults(reply) == [("Idempotency-Key", "wrong-format")]
    assert api.get({"id": 1})["status"] == "pending"


def test_a_key_in_the_body_is_an_unknown_field(api: Api) -> None:
    assert faults(send(api, idempotency_key="k")) == [("idempotency_key", "unknown")]


@pytest.mark.parametrize("other", ["K", "k ", "kk", "к", "k\u200b"])
def test_keys_are_compared_byte_for_byte(claimed: Api, other: str) -> None:
    assert not replayed(send(claimed, other, limit=2))


@pytest.mark.parametrize("other", ["other-worker", "admin"])
def test_another_identity_with_the_key_claims_afresh(api: Api, other: str) -> None:
    keys = ("worker", other)
    for _ in keys:
        api.enqueue()

    first = [send(api, key=key) for key in keys]
    again = [send(api, key=key) for key in keys]

    assert [json_of(reply)["id"] for reply in first] == [1, 2]
    assert [reply.data for reply in again] == [reply.data for reply in first]
    assert [replayed(reply) for reply in first + again] == [False, False, True, True]


def test_a_rotated_key_is_the_same_worker(claimed: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "rotated", worker(key_id="second"))

    assert replayed(send(claimed, key="rotated", limit=2))


def test_a_claim_without_a_key_is_never_a_replay(claimed: Api) -> None:
    jobs = [claimed.claim(limit=2)["jobs"] for _ in range(2)]

    assert [[job["id"] for job in got] for got in jobs] == [[3, 4], []]


def test_the_key_of_a_claim_and_that_of_an_enqueue_are_two_things(api: Api) -> None:
    api.enqueue("admin", idempotency_key="k")

    first, again = send(api, key="admin"), send(api, key="admin")

    assert [replayed(first), replayed(again)] == [False, True]
    assert json_of(first)["id"] == json_of(again)["id"] == 1


def test_an_empty_answer_is_not_remembered(api: Api) -> None:
    assert send(api).status_code == 204
    api.enqueue()

    later, again = send(api), send(api)

    assert (json_of(later)["id"], replayed(later)) == (1, False)
    assert (again.data, replayed(again)) == (later.data, True)


def test_an_empty_list_is_not_remembered(api: Api) -> None:
    empty = send(api, limit=2)
    api.enqueue()

    later, again = send(api, limit=2), send(api, limit=2)

    assert (json_of(empty)["jobs"], replayed(empty)) == ([], False)
    assert (types_of(later), replayed(later)) == (["email"], False)
    assert (types_of(again), replayed(again)) == (["email"], True)


def test_types_that_were_named_are_refused_to_a_narrowed_key(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.enqueue()
    send(api, types=["email"])
    may_run(monkeypatch, "pdf")

    assert_problem(send(api, types=["email"]), 403, "forbidden")
    assert_problem(send(api, types=["email", "pdf"]), 403, "forbidden")


def test_types_that_were_named_are_refused_under_a_narrowed_allowlist(
    store: Store, clock: FakeClock
) -> None:
    api = Api(store, clock)
    api.enqueue()
    send(api, types=["email"])

    assert faults(send(Api(store, clock, plain_types("pdf")), types=["email"])) == [
        ("types", "not-allowed")
    ]


def test_a_narrowed_key_is_given_again_only_what_it_may_still_run(
    claimed: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_run(monkeypatch, "pdf")

    again = send(claimed, limit=2)

    assert (types_of(again), replayed(again)) == (["pdf"], True)


def test_a_narrowed_allowlist_hides_what_has_left_it(claimed: Api, clock: FakeClock) -> None:
    again = send(Api(claimed.store, clock, plain_types("pdf")), limit=2)

    assert (types_of(again), replayed(again)) == (["pdf"], True)


def test_a_key_that_may_run_none_of_what_it_was_given_claims_afresh(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.enqueue(job_type="email")
    api.enqueue(job_type="pdf")
    first = send(api, limit=1)
    may_run(monkeypatch, "pdf")

    afresh = send(api, limit=1)

    assert (types_of(first), types_of(afresh)) == (["email"], ["pdf"])
    assert not replayed(afresh)


def test_a_key_that_may_run_nothing_is_given_nothing_again(
    claimed: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_run(monkeypatch)

    again = send(claimed, limit=2)

    assert (types_of(again), replayed(again)) == ([], False)


def test_a_key_that_is_widened_again_sees_all_that_it_was_given(
    claimed: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as narrowed:
        may_run(narrowed, "pdf")
        send(claimed, limit=2)

    assert types_of(send(claimed, limit=2)) == ["email", "pdf"]


def test_a_retired_type_is_still_given_again(claimed: Api, clock: FakeClock) -> None:
    types = {"email": Policy(accept=False), "pdf": Policy()}

    again = send(Api(claimed.store, clock, JobTypes(types)), limit=2)

    assert (types_of(again), replayed(again)) == (["email", "pdf"], True)


def test_a_lease_beyond_a_shortened_run_time_is_refused_to_a_repeat_too(
    store: Store, clock: FakeClock
) -> None:
    api = Api(store, clock)
    api.enqueue()
    send(api, lease_seconds=60)
    shortened = Api(store, clock, JobTypes({"email": Policy(max_runtime_seconds=59)}))

    assert faults(send(shortened, lease_seconds=60)) == [("lease_seconds", "out-of-range")]
