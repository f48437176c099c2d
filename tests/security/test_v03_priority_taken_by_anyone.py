"""V-03: any caller could call its job critical and overtake all others; now a key and a type have a
cap, and nothing but a label within it moves a job forward."""

from collections.abc import Mapping
from typing import Any

import pytest

from queuelog_core.job import PRIORITIES, Priority
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, producer
from tests.support.http import KEYS, Api, assert_problem, faults, json_of

LABELS = ["low", "medium", "high", "critical"]
SPELLINGS = [str.lower, str.upper, str.title, str.swapcase, lambda label: label[:-1] + "L"]
NO_LABELS = [
    *("30", "99", "criticaI", "crıtical", "ｃritical", "сritical", " critical", "critical "),
    *("critical\0", "critical\n", "critical,low", "urgent", "", "high'; --", "CRİTICAL", "max"),
]
NO_TEXTS = [30, 0, 31, -1, 30.0, 1e9, True, False, [], ["critical"], {}, {"label": "critical"}]


def jobs(api: Api) -> Any:
    return json_of(api.call("GET", "/jobs"))["jobs"]


def allowed(cap: Priority) -> list[str]:
    return [label for label in LABELS if PRIORITIES[label] <= cap]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=["lower", "UPPER", "Title", "swapped", "last"])
@pytest.mark.parametrize("cap", list(Priority), ids=lambda cap: cap.label)
def test_no_spelling_of_a_label_passes_the_cap_of_a_key(
    api: Api, monkeypatch: pytest.MonkeyPatch, cap: Priority, spelling: Any
) -> None:
    monkeypatch.setitem(KEYS, "capped", producer("capped", priority_max=cap))

    replies = [
        api.call("POST", "/jobs", "capped", {"type": "email", "priority": spelling(label)})
        for label in LABELS
    ]

    stored = {job["priority"] for job in jobs(api)}
    assert stored <= set(allowed(cap))
    assert all(reply.status_code in (201, 403, 422) for reply in replies)


@pytest.mark.parametrize("label", ["critical", "CRITICAL", "Critical", "cRiTiCaL"])
@pytest.mark.parametrize("key", ["producer", "low-producer", "other-producer", "email-producer"])
def test_a_producer_below_critical_is_refused_it_and_nothing_is_stored(
    api: Api, key: str, label: str
) -> None:
    reply = api.call("POST", "/jobs", key, {"type": "email", "priority": label})

    assert_problem(reply, 403, "priority-not-allowed")
    assert jobs(api) == []


@pytest.mark.parametrize("label", ["medium", "high", "critical", "HIGH"])
def test_a_key_capped_at_low_is_refused_all_above(api: Api, label: str) -> None:
    reply = api.call("POST", "/jobs", "low-producer", {"type": "email", "priority": label})

    assert_problem(reply, 403, "priority-not-allowed")
    assert jobs(api) == []


@pytest.mark.parametrize("key", ["producer", "admin"])
@pytest.mark.parametrize("label", ["medium", "high", "critical", "Critical"])
def test_the_cap_of_a_type_holds_for_every_key(
    store: Store, clock: FakeClock, key: str, label: str
) -> None:
    api = Api(store, clock, JobTypes({"spam": Policy(priority_max=Priority.LOW)}))

    reply = api.call("POST", "/jobs", key, {"type": "spam", "priority": label})

    assert_problem(reply, 403, "priority-not-allowed")
    assert jobs(api) == []


@pytest.mark.parametrize(("key", "label"), [("low-producer", "low"), ("producer", "medium")])
def test_without_a_label_a_job_gets_no_more_than_its_key_may(
    api: Api, key: str, label: str
) -> None:
    job = api.enqueue(key)

    assert job["priority"] == label


@pytest.mark.parametrize("value", [*NO_LABELS, *NO_TEXTS], ids=ascii)
@pytest.mark.parametrize("key", ["producer", "admin"])
def test_what_is_no_label_is_refused_and_not_stored(api: Api, key: str, value: Any) -> None:
    reply = api.call("POST", "/jobs", key, {"type": "email", "priority": value})

    assert [field for field, _ in faults(reply)] == ["priority"]
    assert jobs(api) == []


def test_a_second_label_in_the_same_body_does_not_slip_past_the_check(api: Api) -> None:
    raw = b'{"type": "email", "priority": "low", "priority": "critical"}'

    reply = api.call("POST", "/jobs", "producer", raw=raw)

    assert_problem(reply, 400, "invalid-json")
    assert jobs(api) == []


def attack(api: Api, query: str = "", headers: Mapping[str, str] | None = None, **body: Any) -> Any:
    return api.call("POST", f"/jobs{query}", "low-producer", body, headers=headers)


@pytest.mark.parametrize(
    "sent",
    [
        {"payload": {"priority": "critical"}},
        {"query": "?priority=critical"},
        {"headers": {"Priority": "u=0", "X-Priority": "critical"}},
        {"priority": "critical"},
        {"Priority": "critical"},
        {"priority_max": "critical"},
        {"run_at": "1970-01-01T00:00:00Z"},
        {"run_at": "0001-01-01T00:00:00Z"},
        {"delay_seconds": -1},
        {"created_at": "1970-01-01T00:00:00Z"},
        {"id": 0},
        {"idempotency_key": "the victim's"},
    ],
    ids=str,
)
def test_no_request_of_a_low_key_is_claimed_before_a_waiting_job(api: Api, sent: Any) -> None:
    waiting = api.enqueue("low-producer", priority="low", idempotency_key="first")

    attack(api, type="email", **sent)

    assert api.claim()["id"] == waiting["id"]


@pytest.mark.parametrize("label", ["low", "medium", "high"])
def test_refused_spam_leaves_the_order_of_the_queue_alone(api: Api, label: str) -> None:
    waiting = api.enqueue(priority=label)

    replies = [attack(api, type="email", priority="critical", payload={}) for _ in range(10)]

    assert {reply.status_code for reply in replies} == {403}
    assert jobs(api) == [waiting]
    assert api.claim()["id"] == waiting["id"]


def test_a_repeat_under_a_narrowed_key_is_refused_like_a_new_request(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"type": "email", "priority": "high", "idempotency_key": "k"}
    first = json_of(api.call("POST", "/jobs", "producer", body))
    monkeypatch.setitem(KEYS, "producer", producer(priority_max=Priority.MEDIUM))

    reply = api.call("POST", "/jobs", "producer", body)

    assert_problem(reply, 403, "priority-not-allowed")
    assert jobs(api) == [first]


@pytest.mark.parametrize(("label", "status"), [("high", 200), ("critical", 403)])
def test_a_repeat_with_another_label_does_not_lift_the_job(
    api: Api, label: str, status: int
) -> None:
    first = api.enqueue(priority="low", idempotency_key="k")

    body = {"type": "email", "priority": label, "idempotency_key": "k"}
    reply = api.call("POST", "/jobs", "producer", body)

    assert reply.status_code == status
    assert jobs(api) == [first]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST"])
@pytest.mark.parametrize("path", ["/jobs/1", "/jobs/1/priority"])
def test_nothing_lifts_a_job_after_it_was_stored(api: Api, path: str, method: str) -> None:
    first = api.enqueue(priority="low")

    reply = api.call(method, path, "admin", {"priority": "critical"})

    assert reply.status_code in (404, 405)
    assert jobs(api) == [first]


def test_a_report_does_not_lift_the_job_it_gives_back(api: Api) -> None:
    api.enqueue(priority="low")
    running = api.claim()

    reply = api.report("fail", running, priority="critical")

    assert faults(reply) == [("priority", "unknown")]
    assert api.get(running)["priority"] == "low"
    assert api.get(running)["status"] == "running"
