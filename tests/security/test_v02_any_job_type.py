"""V-02: a type was any text, so a worker could be sent where no handler is; now only names on the
allowlist are stored, byte for byte."""

from typing import Any

import pytest

from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, producer
from tests.support.http import KEYS, Api, assert_problem, faults, json_of

RETIRED = JobTypes({"email": Policy(), "fax": Policy(accept=False)})
UNLISTED = [
    *("DROP TABLE", "shutdown", "admin_task", "spam", "*", "%", "emai_", "email' OR '1'='1"),
    *("email; DROP TABLE jobs; --", "'; DELETE FROM jobs; --", "email/*", 'email"', "email\\"),
    *("../email", "email/../pdf", "/etc/passwd", "email/", "./email", "email\\..\\pdf", "%65mail"),
    *("Email", "EMAIL", "eMail", " email", "email ", "email\n", "\temail", "email\r\n", " ", "\n"),
    *("email\0", "\0email", "em\0ail", "email\x7f", "email\u200b", "\ufeffemail", "e\u00admail"),
    *("еmail", "emаil", "ｅｍａｉｌ", "emaıl", "emai1", "emai\u0307l", "𝐞mail", "email\u202e"),
    *("email,pdf", "email|pdf", "email pdf", "['email']", "null", "None", "__proto__", "{}", "0"),
    *("__class__", "constructor", "${jndi:ldap://x/a}", "$(reboot)", "{{7*7}}", "email\u2028"),
]
NO_TEXTS = [1, 0, True, False, 1.5, [], ["email"], {}, {"email": True}, {"$ne": None}]


def jobs(api: Api) -> Any:
    return json_of(api.call("GET", "/jobs"))["jobs"]


@pytest.mark.parametrize("key", ["producer", "admin", "email-producer"])
@pytest.mark.parametrize("job_type", UNLISTED, ids=ascii)
def test_a_type_off_the_allowlist_is_refused_and_not_stored(
    api: Api, job_type: str, key: str
) -> None:
    reply = api.call("POST", "/jobs", key, {"type": job_type})

    assert faults(reply) == [("type", "not-allowed")]
    assert jobs(api) == []


@pytest.mark.parametrize("value", NO_TEXTS, ids=repr)
def test_a_type_that_is_no_text_is_refused_and_not_stored(api: Api, value: Any) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": value})

    assert faults(reply) == [("type", "wrong-type")]
    assert jobs(api) == []


@pytest.mark.parametrize("body", [{}, {"type": None}, {"type": ""}, {"Type": "email"}], ids=repr)
def test_a_request_without_a_type_is_refused_and_not_stored(api: Api, body: Any) -> None:
    reply = api.call("POST", "/jobs", "producer", body)

    assert "type" in [field for field, _ in faults(reply)]
    assert jobs(api) == []


@pytest.mark.parametrize("size", [255, 256, 10_000])
def test_a_long_type_is_refused_and_not_stored(api: Api, size: int) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email" * (size // 5)})

    assert [field for field, _ in faults(reply)] == ["type"]
    assert jobs(api) == []


def test_a_second_type_in_the_same_body_does_not_slip_past_the_check(api: Api) -> None:
    raw = b'{"type": "email", "type": "shutdown"}'

    reply = api.call("POST", "/jobs", "producer", raw=raw)

    assert_problem(reply, 400, "invalid-json")
    assert jobs(api) == []


@pytest.mark.parametrize("place", ["query", "header", "payload"])
def test_a_type_in_another_place_has_no_say(api: Api, place: str) -> None:
    path = "/jobs?type=shutdown" if place == "query" else "/jobs"
    headers = {"X-Job-Type": "shutdown"} if place == "header" else {}
    payload = {"type": "shutdown"} if place == "payload" else {}

    api.call("POST", path, "producer", {"type": "email", "payload": payload}, headers=headers)

    assert {job["type"] for job in jobs(api)} <= {"email"}
    assert "shutdown" not in json_of(api.call("GET", "/stats"))["types"]


@pytest.mark.parametrize("job_type", ["pdf", "sync"])
def test_a_type_outside_the_key_is_forbidden_and_not_stored(api: Api, job_type: str) -> None:
    reply = api.call("POST", "/jobs", "email-producer", {"type": job_type})

    assert_problem(reply, 403, "forbidden")
    assert jobs(api) == []


def test_a_key_with_a_type_off_the_allowlist_may_not_use_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KEYS, "old", producer("old", types=frozenset({"shutdown"})))

    reply = api.call("POST", "/jobs", "old", {"type": "shutdown"})

    assert faults(reply) == [("type", "not-allowed")]
    assert jobs(api) == []


@pytest.mark.parametrize("key", ["producer", "admin"])
def test_a_retired_type_is_refused_and_not_stored(store: Store, clock: FakeClock, key: str) -> None:
    api = Api(store, clock, RETIRED)

    reply = api.call("POST", "/jobs", key, {"type": "fax"})

    assert faults(reply) == [("type", "not-allowed")]
    assert jobs(api) == []


def test_a_known_idempotency_key_opens_no_way_to_a_retired_type(
    store: Store, clock: FakeClock
) -> None:
    before = Api(store, clock, JobTypes({"email": Policy(), "fax": Policy()}))
    before.enqueue(job_type="fax", idempotency_key="k")
    api = Api(store, clock, RETIRED)

    reply = api.call("POST", "/jobs", "producer", {"type": "fax", "idempotency_key": "k"})

    assert faults(reply) == [("type", "not-allowed")]
    assert [job["id"] for job in jobs(api)] == [1]


@pytest.mark.parametrize("job_type", UNLISTED, ids=ascii)
def test_a_claim_for_a_type_off_the_allowlist_gets_nothing(api: Api, job_type: str) -> None:
    waiting = api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", {"types": ["email", job_type]})

    assert faults(reply) == [("types", "not-allowed")]
    assert api.get(waiting, "producer") == waiting


def test_a_refusal_does_not_repeat_the_type(api: Api) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "canary77"})

    assert reply.status_code == 422
    assert b"canary77" not in reply.data + str(reply.headers).encode()
