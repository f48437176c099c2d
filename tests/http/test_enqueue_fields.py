"""Fields of POST /jobs that are refused, and how the refusal tells it."""

from typing import Any

import pytest

from tests.support.http import Api, assert_problem, faults, json_of

WRONG_TYPES: list[tuple[str, Any]] = [
    ("type", 5),
    ("type", ["email"]),
    ("type", True),
    ("payload", []),
    ("payload", "x"),
    ("payload", 5),
    ("payload", False),
    ("priority", 10),
    ("priority", ["low"]),
    ("max_retries", True),
    ("max_retries", "3"),
    ("max_retries", 3.0),
    ("max_retries", 3.5),
    ("max_retries", [3]),
    ("delay_seconds", True),
    ("delay_seconds", "5"),
    ("delay_seconds", 5.0),
    ("idempotency_key", 5),
    ("idempotency_key", {}),
    ("run_at", 1_795_953_600),
    ("run_at", True),
]


@pytest.mark.parametrize(
    "name", ["payload", "priority", "max_retries", "idempotency_key", "run_at", "delay_seconds"]
)
def test_null_for_an_optional_field_means_absent(api: Api, name: str) -> None:
    plain = api.enqueue()

    reply = api.call("POST", "/jobs", "producer", {"type": "email", name: None})

    assert json_of(reply) == plain | {"id": 2}


def test_a_type_is_needed(api: Api) -> None:
    without = api.call("POST", "/jobs", "producer", {"payload": {}})
    null = api.call("POST", "/jobs", "producer", {"type": None})

    assert faults(without) == [("type", "missing")]
    assert faults(null) == [("type", "missing")]


@pytest.mark.parametrize(("name", "value"), WRONG_TYPES)
def test_a_value_of_another_json_type_is_refused(api: Api, name: str, value: Any) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", name: value})

    assert faults(reply) == [(name, "wrong-type")]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("type", "", "wrong-length"),
        ("type", "e" * 256, "wrong-length"),
        ("type", "fax", "not-allowed"),
        ("type", "EMAIL", "not-allowed"),
        ("type", "email ", "not-allowed"),
        ("priority", "urgent", "unknown-value"),
        ("priority", "", "unknown-value"),
        ("priority", "high ", "unknown-value"),
        ("priority", "crıtıcal", "unknown-value"),
        ("max_retries", -1, "out-of-range"),
        ("max_retries", 26, "out-of-range"),
        ("max_retries", 10**9, "out-of-range"),
        ("max_retries", 2**63, "out-of-range"),
        ("max_retries", 10**400, "out-of-range"),
        ("idempotency_key", "", "wrong-length"),
        ("idempotency_key", "k" * 256, "wrong-length"),
        ("idempotency_key", "a\nb", "wrong-format"),
    ],
)
def test_a_value_out_of_its_limits_is_refused(api: Api, name: str, value: Any, code: str) -> None:
    """B07 for max_retries."""
    reply = api.call("POST", "/jobs", "producer", {"type": "email", name: value})

    assert faults(reply) == [(name, code)]
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


@pytest.mark.parametrize("number", [0, 1, 25])
def test_retries_may_be_asked_for_within_the_limits(api: Api, number: int) -> None:
    """B07."""
    assert api.enqueue(max_retries=number)["max_retries"] == number


@pytest.mark.parametrize(
    "name",
    ["status", "retry_count", "id", "producer_id", "worker_id", "created_at", "x", "", "Type"],
)
@pytest.mark.parametrize("value", [None, 1])
def test_a_field_that_does_not_exist_is_refused(api: Api, name: str, value: Any) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", name: value})

    assert faults(reply) == [(name, "unknown")]


def test_every_fault_is_told(api: Api) -> None:
    body = {"payload": 5, "priority": "x", "max_retries": True, "delay_seconds": -1, "status": "x"}

    reply = api.call("POST", "/jobs", "producer", body)

    assert {field for field, _ in faults(reply)} == {"type", *body}


@pytest.mark.parametrize(("number", "shown", "last"), [(20, 20, "unknown"), (21, 21, "more")])
def test_at_most_twenty_faults_are_told_and_then_that_there_are_more(
    api: Api, number: int, shown: int, last: str
) -> None:
    unknown = {f"field_{n}": n for n in range(number)}

    reply = api.call("POST", "/jobs", "producer", {"type": "email", **unknown})

    told = faults(reply)
    assert len(told) == shown
    assert told[-1][1] == last


@pytest.mark.parametrize(
    "body",
    [
        {"type": "canary-77"},
        {"type": "email", "priority": "canary-77"},
        {"type": "email", "payload": "canary-77"},
        {"type": "email", "max_retries": "canary-77"},
        {"type": "email", "run_at": "canary-77"},
        {"type": "email", "delay_seconds": "canary-77"},
        {"type": "email", "idempotency_key": "canary-77\n"},
        {"type": "email", "idempotency_key": "canary-77" * 50},
        {"type": "email", "status": "canary-77"},
        {"type": "email", "payload": {"a": "canary-77" * 10_000}},
    ],
)
def test_no_refusal_repeats_a_value(api: Api, body: dict[str, Any]) -> None:
    reply = api.call("POST", "/jobs", "producer", body)

    assert reply.status_code == 422
    assert b"canary-77" not in reply.data


def test_faults_of_a_nested_object_are_counted_once(api: Api) -> None:
    sent = {"filter": {f"unknown_{number}": 1 for number in range(26)}}

    reply = api.call("POST", "/jobs/redrive", "admin", sent)

    errors = assert_problem(reply, 422, "validation-failed")["errors"]
    assert (len(errors), errors[-1]["message"]) == (21, "There are 6 more.")
