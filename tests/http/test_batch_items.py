"""A bad item of a batch is told what it would be told alone, in its place, and stops no other."""

import json
from typing import Any

import pytest

from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem, json_of

EMAIL = {"type": "email"}


def send(api: Api, jobs: list[Any], key: str = "producer") -> list[Any]:
    """What each item was told."""
    reply = api.call("POST", "/jobs/batch", key, {"jobs": jobs})
    assert reply.status_code == 200, reply.get_data(as_text=True)
    found: list[Any] = json_of(reply)["results"]
    assert [result["index"] for result in found] == list(range(len(jobs)))
    for result in found:
        if "error" in result:
            assert list(result) == ["index", "status", "error"]
            assert result["error"]["status"] == result["status"]
            assert result["error"]["request_id"] == reply.headers["X-Request-Id"]
        else:
            assert list(result) == ["index", "status", "id", "replayed", "payload_mismatch"]
    return found


def stored(api: Api) -> int:
    return len(json_of(api.call("GET", "/jobs?limit=200"))["jobs"])


BAD: list[tuple[Any, str, str]] = [
    (None, "", "wrong-type"),
    (5, "", "wrong-type"),
    (True, "", "wrong-type"),
    ("email", "", "wrong-type"),
    ([EMAIL], "", "wrong-type"),
    ({}, "type", "missing"),
    ({"type": None}, "type", "missing"),
    ({"type": 5}, "type", "wrong-type"),
    ({"type": ""}, "type", "wrong-length"),
    ({"type": "unheard-of"}, "type", "not-allowed"),
    (EMAIL | {"payload": []}, "payload", "wrong-type"),
    (EMAIL | {"payload": {"text": "x" * 65_536}}, "payload", "too-large"),
    (EMAIL | {"priority": 10}, "priority", "wrong-type"),
    (EMAIL | {"priority": "urgent"}, "priority", "unknown-value"),
    (EMAIL | {"max_retries": True}, "max_retries", "wrong-type"),
    (EMAIL | {"max_retries": "5"}, "max_retries", "wrong-type"),
    (EMAIL | {"max_retries": 26}, "max_retries", "out-of-range"),
    (EMAIL | {"delay_seconds": -1}, "delay_seconds", "out-of-range"),
    (EMAIL | {"run_at": "2026-11-29T12:00:00"}, "run_at", "wrong-format"),
    (EMAIL | {"run_at": "2028-11-29T12:00:00Z"}, "run_at", "out-of-range"),
    (
        EMAIL | {"run_at": "2026-11-29T12:00:00Z", "delay_seconds": 1},
        *("delay_seconds", "conflict"),
    ),
    (EMAIL | {"idempotency_key": ""}, "idempotency_key", "wrong-length"),
    (EMAIL | {"idempotency_key": "k" * 256}, "idempotency_key", "wrong-length"),
    (EMAIL | {"idempotency_key": "a\x01"}, "idempotency_key", "wrong-format"),
    (EMAIL | {"status": "completed"}, "status", "unknown"),
    (EMAIL | {"jobs": [EMAIL]}, "jobs", "unknown"),
]


@pytest.mark.parametrize(("bad", "field", "fault"), BAD, ids=[str(row[0])[:60] for row in BAD])
def test_a_bad_item_is_told_its_fault_and_the_others_are_made(
    api: Api, bad: Any, field: str, fault: str
) -> None:
    told = send(api, [EMAIL, bad, EMAIL, bad])

    assert [result["status"] for result in told] == [201, 422, 201, 422]
    assert [told[0]["id"], told[2]["id"]] == [1, 2]
    for result in (told[1], told[3]):
        error = result["error"]
        assert [(found["field"], found["code"]) for found in error["errors"]] == [(field, fault)]
    assert stored(api) == 2


@pytest.mark.parametrize("bad", [row[0] for row in BAD], ids=[str(row[0])[:60] for row in BAD])
def test_the_error_of_an_item_is_the_problem_it_would_be_alone(api: Api, bad: Any) -> None:
    headers = {"X-Request-Id": "same"}
    together = api.call("POST", "/jobs/batch", "producer", {"jobs": [bad]}, headers=headers)
    raw = json.dumps(bad).encode()
    alone = api.call("POST", "/jobs", "producer", raw=raw, headers=headers)

    assert json_of(together)["results"][0]["error"] == assert_problem(
        alone, 422, "validation-failed"
    )


@pytest.mark.parametrize(
    ("key", "bad", "code"),
    [
        ("email-producer", {"type": "pdf"}, "forbidden"),
        ("low-producer", EMAIL | {"priority": "medium"}, "priority-not-allowed"),
        ("producer", EMAIL | {"priority": "critical"}, "priority-not-allowed"),
    ],
)
def test_what_the_callers_key_may_not_do_is_403_in_its_place(
    api: Api, key: str, bad: Any, code: str
) -> None:
    told = send(api, [EMAIL, bad, EMAIL], key)

    assert [result["status"] for result in told] == [201, 403, 201]
    assert told[1]["error"]["code"] == code
    assert stored(api) == 2


def test_a_retired_type_is_refused_in_its_place(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, JobTypes({"email": Policy(), "fax": Policy(accept=False)}))

    told = send(api, [{"type": "fax"}, EMAIL])

    assert [result["status"] for result in told] == [422, 201]
    assert told[0]["error"]["errors"][0]["code"] == "not-allowed"


def test_every_kind_of_outcome_stands_in_its_own_place(api: Api) -> None:
    api.enqueue("email-producer", idempotency_key="k")
    known = EMAIL | {"idempotency_key": "k"}
    jobs = [
        {"type": "pdf"},
        known,
        5,
        EMAIL,
        EMAIL | {"priority": "critical"},
        known | {"payload": {"other": 1}},
        {"type": "unheard-of"},
        EMAIL | {"idempotency_key": "l"},
    ]

    told = send(api, jobs, "email-producer")

    assert [result["status"] for result in told] == [403, 200, 422, 201, 403, 200, 422, 201]
    assert [told[1]["id"], told[5]["id"], stored(api)] == [1, 1, 3]
    assert api.get(told[3])["idempotency_key"] is None
    assert api.get(told[7])["idempotency_key"] == "l"
    assert [told[1]["payload_mismatch"], told[5]["payload_mismatch"]] == [False, True]


def test_a_batch_of_bad_items_alone_asks_nothing_of_the_store(api: Api, store: SqliteStore) -> None:
    sent: list[str] = []
    thread_connection(store).set_trace_callback(sent.append)

    told = send(api, [bad for bad, *_ in BAD])

    assert {result["status"] for result in told} == {422}
    assert sent == []


def test_a_bad_item_may_name_a_key_that_is_taken_and_changes_nothing(api: Api) -> None:
    api.enqueue(idempotency_key="k")
    before = api.get({"id": 1})

    told = send(api, [{"type": "unheard-of", "idempotency_key": "k"}])

    assert told[0]["status"] == 422
    assert api.get({"id": 1}) == before


def test_a_key_of_a_bad_item_stays_free(api: Api) -> None:
    bad, good = (
        EMAIL | {"idempotency_key": "k", "max_retries": 26},
        EMAIL | {"idempotency_key": "k"},
    )

    told = send(api, [bad, good])

    assert [result["status"] for result in told] == [422, 201]


def test_each_item_has_twenty_errors_of_its_own(api: Api) -> None:
    bad = EMAIL | {f"field {number}": 1 for number in range(20 + 5)}

    for result in send(api, [bad, bad]):
        codes = [error["code"] for error in result["error"]["errors"]]
        assert codes == ["unknown"] * 20 + ["more"]


def test_no_error_of_an_item_repeats_a_value_of_the_request(api: Api) -> None:
    secret = "hunter2"
    values = [{"type": secret}, EMAIL | {"priority": secret}, EMAIL | {"run_at": secret}, secret]

    assert secret not in json.dumps(send(api, values))


def test_an_item_beyond_the_callers_narrowed_powers_is_refused_on_a_repeat_too(
    store: Store, clock: FakeClock
) -> None:
    jobs = [EMAIL | {"idempotency_key": "k"}, {"type": "pdf", "idempotency_key": "l"}]
    send(Api(store, clock), jobs)
    narrowed = Api(store, clock, JobTypes({"pdf": Policy()}))

    assert [result["status"] for result in send(narrowed, jobs)] == [422, 200]
