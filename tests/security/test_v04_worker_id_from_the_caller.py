"""V-04: a caller chose the name under which it claimed; now the name comes from the key alone."""

import json
from typing import Any

import pytest

from tests.support.http import Api, faults, json_of

FORGED: list[Any] = [
    *("printer", "legitimate-worker-1", "root", "mailer ", "MAILER", "", "*", "' OR '1'='1", "\0"),
    *(None, 0, 1, True, [], ["printer"], {}, {"name": "printer"}, "x" * 10_000),
]
PRINTER = {
    "name": "printer",
    "role": "worker",
    "priority_max": "critical",
    "types": None,
    "key_id": "x",
}
HEADERS = [
    *("X-Worker-Id", "X-Worker", "Worker-Id", "worker_id", "X-Forwarded-User", "Remote-User"),
    *("X-Remote-User", "From", "X-User-Id", "X-Identity", "X-Amzn-Oidc-Identity", "User-Agent"),
    *("serverless.authorizer", "serverless.context", "X-Authorizer", "Authorization", "Cookie"),
    *("X-Forwarded-For", "X-Client-Id", "X-On-Behalf-Of", "Idempotency-Key"),
]
SAID = ["printer", json.dumps(PRINTER), json.dumps({"lambda": {"identity": json.dumps(PRINTER)}})]


def claimed_by(api: Api, job_id: int = 1) -> str | None:
    """Whose the job is in the store, whatever an answer said."""
    job = api.store.get(job_id)
    assert job is not None
    return job.worker_id


@pytest.mark.parametrize("forged", FORGED, ids=lambda value: ascii(value)[:30])
def test_a_worker_id_in_a_claim_has_no_say(api: Api, forged: Any) -> None:
    api.enqueue()

    job = api.claim(worker_id=forged)

    assert job["worker_id"] == "mailer"
    assert claimed_by(api) == "mailer"


@pytest.mark.parametrize("said", SAID, ids=["name", "identity", "context"])
@pytest.mark.parametrize("name", HEADERS)
def test_a_header_has_no_say_in_who_claims(api: Api, name: str, said: str) -> None:
    api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", {}, headers={name: said})

    assert json_of(reply)["worker_id"] == "mailer"
    assert claimed_by(api) == "mailer"


@pytest.mark.parametrize("query", ["worker_id=printer", "worker=printer", "name=printer&as=root"])
def test_the_address_has_no_say_in_who_claims(api: Api, query: str) -> None:
    api.enqueue()

    reply = api.call("POST", f"/jobs/claim?{query}", "worker", {})

    assert reply.status_code in (200, 422)
    assert claimed_by(api) in ("mailer", None)


@pytest.mark.parametrize("field", ["workerId", "worker", "name", "identity", "claimed_by", "as"])
def test_a_field_that_nobody_knows_is_refused_and_nothing_is_claimed(api: Api, field: str) -> None:
    waiting = api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", {field: "printer"})

    assert faults(reply) == [(field, "unknown")]
    assert api.get(waiting, "producer") == waiting


@pytest.mark.parametrize("name", ["printer", "mailer", None])
@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_worker_id_in_a_report_is_refused_and_changes_nothing(
    api: Api, verb: str, name: str | None
) -> None:
    api.enqueue()
    running = api.claim("other-worker")
    before = api.get(running)

    reply = api.report(verb, running, "worker", worker_id=name)

    assert faults(reply) == [("worker_id", "unknown")]
    assert api.get(running) == before


@pytest.mark.parametrize("field", ["worker_id", "producer_id", "claimed_at", "attempt", "status"])
def test_a_producer_cannot_write_another_name_into_its_job(api: Api, field: str) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", field: "printer"})

    assert faults(reply) == [(field, "unknown")]
    assert json_of(api.call("GET", "/jobs"))["jobs"] == []


@pytest.mark.parametrize("key", ["worker", "other-worker", "pdf-worker", "admin"])
def test_every_claim_carries_the_name_of_its_key(api: Api, key: str) -> None:
    api.enqueue(job_type="pdf")

    job = api.claim(key, worker_id="somebody")

    assert job["worker_id"] == json_of(api.call("GET", "/whoami", key))["name"]


def test_a_forged_claim_is_not_counted_among_the_victims(api: Api) -> None:
    api.enqueue()
    api.enqueue()
    honest = api.claim("other-worker")

    forged = api.claim("worker", worker_id="printer")

    listed = json_of(api.call("GET", "/jobs?worker_id=printer"))["jobs"]
    assert [job["id"] for job in listed] == [honest["id"]]
    assert forged["id"] != honest["id"]


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_the_victim_holds_nothing_that_was_claimed_in_its_name(api: Api, verb: str) -> None:
    api.enqueue()
    forged = api.claim("worker", worker_id="printer")

    by_victim = api.report(verb, forged, "other-worker")
    by_claimer = api.report(verb, forged, "worker")

    assert (by_victim.status_code, json_of(by_victim)["code"]) == (409, "not-owner")
    assert by_claimer.status_code == 200


def test_the_history_names_the_key_and_not_the_forged_name(api: Api) -> None:
    api.enqueue()
    api.report("fail", api.claim(worker_id="printer"), error="worker_id=printer")

    job = api.store.get(1)

    assert job is not None
    assert [attempt.worker_id for attempt in job.history] == ["mailer"]
