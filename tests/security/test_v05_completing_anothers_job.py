"""V-05: a report asked only whether the job runs; now it must come from the one who claimed it, on
the attempt that it got."""

from typing import Any

import pytest

from queuelog_core.job import Job
from tests.support.factories import worker
from tests.support.http import KEYS, Api, assert_problem, json_of

LEASE_SECONDS = 300
both_verbs = pytest.mark.parametrize("verb", ["complete", "fail"])
EXTRAS: dict[str, dict[str, Any]] = {
    "complete": {"result": {"by": "the attacker"}},
    "fail": {"error": "by the attacker", "error_code": "attacked", "retryable": False},
}
FAKE_NAMES = {"X-Worker-Id": "printer", "X-Forwarded-User": "printer", "From": "printer"}


@pytest.fixture
def running(api: Api) -> Any:
    """Job 1 of shop, held by printer on attempt 1, as its holder sees it."""
    api.enqueue()
    return api.claim("other-worker")


def stored(api: Api) -> Job:
    job = api.store.get(1)
    assert job is not None
    return job


def attack(api: Api, verb: str, key: str, attempt: Any = None, job_id: int = 1) -> Any:
    body = EXTRAS[verb] if attempt is None else EXTRAS[verb] | {"attempt": attempt}
    return api.call("POST", f"/jobs/{job_id}/{verb}", key, body, headers=FAKE_NAMES)


@both_verbs
@pytest.mark.parametrize(
    ("key", "attempt", "status", "code"),
    [
        ("worker", None, 409, "not-owner"),
        ("worker", 1, 409, "not-owner"),
        ("worker", 2, 409, "lease-lost"),
        ("pdf-worker", None, 409, "conflict"),
        ("pdf-worker", 1, 409, "conflict"),
        ("admin", None, 409, "not-owner"),
        ("admin", 1, 409, "not-owner"),
        ("producer", None, 403, "forbidden"),
        ("producer", 1, 403, "forbidden"),
        ("other-producer", 1, 403, "forbidden"),
        ("stranger", 1, 403, "forbidden"),
        (None, 1, 401, "unauthorized"),
    ],
)
def test_nobody_but_the_holder_reports_on_a_running_job(
    api: Api, running: Any, verb: str, key: Any, attempt: int | None, status: int, code: str
) -> None:
    before = stored(api)

    reply = attack(api, verb, key, attempt)

    assert_problem(reply, status, code)
    assert stored(api) == before


@both_verbs
@pytest.mark.parametrize("name", ["printer2", "printe", "printer-1", "printer.", "p", "rinter"])
def test_a_name_that_looks_like_the_holders_is_another(
    api: Api, running: Any, monkeypatch: pytest.MonkeyPatch, verb: str, name: str
) -> None:
    monkeypatch.setitem(KEYS, "twin", worker(name))
    before = stored(api)

    reply = attack(api, verb, "twin", 1)

    assert_problem(reply, 409, "not-owner")
    assert stored(api) == before


@both_verbs
@pytest.mark.parametrize("attempt", [0, -1, 2**53, 1.5, "1", "1 OR 1=1", True, [1], {"$gte": 0}])
@pytest.mark.parametrize("key", ["worker", "other-worker", "admin"])
def test_an_attempt_that_is_no_number_of_one_is_refused(
    api: Api, running: Any, key: str, verb: str, attempt: Any
) -> None:
    before = stored(api)

    reply = attack(api, verb, key, attempt)

    assert_problem(reply, 422, "validation-failed")
    assert stored(api) == before


@both_verbs
@pytest.mark.parametrize("key", ["worker", "admin"])
def test_trying_every_attempt_finds_none_that_opens(
    api: Api, running: Any, key: str, verb: str
) -> None:
    before = stored(api)

    replies = [attack(api, verb, key, attempt) for attempt in range(1, 50)]

    assert {reply.status_code for reply in replies} == {409}
    assert stored(api) == before


@both_verbs
def test_trying_every_id_reports_on_no_job_of_another(api: Api, verb: str) -> None:
    for _ in range(10):
        api.enqueue()
        api.claim("other-worker")
    before = api.call("GET", "/jobs").data

    replies = [attack(api, verb, "worker", None, number) for number in range(1, 21)]

    assert {reply.status_code for reply in replies} == {409}
    assert api.call("GET", "/jobs").data == before


@both_verbs
def test_the_holder_still_reports_after_the_attacks(api: Api, running: Any, verb: str) -> None:
    for key in ("worker", "admin", "pdf-worker", "producer"):
        attack(api, verb, key, 1)

    reply = api.report("complete", running, "other-worker", result={"by": "printer"})

    assert reply.status_code == 200
    assert json_of(reply)["result"] == {"by": "printer"}


@both_verbs
@pytest.mark.parametrize("attempt", [None, 1, 2])
def test_a_worker_that_lost_its_lease_cannot_report_on_the_next_holders_run(
    api: Api, running: Any, verb: str, attempt: int | None
) -> None:
    api.clock.advance(LEASE_SECONDS)
    assert api.claim("worker")["attempt"] == 2
    before = stored(api)

    reply = attack(api, verb, "other-worker", attempt)

    assert reply.status_code == 409
    assert json_of(reply)["code"] == ("lease-lost" if attempt == 1 else "not-owner")
    assert stored(api) == before


@both_verbs
@pytest.mark.parametrize("key", ["worker", "admin"])
def test_a_lease_that_ran_out_is_nobodys_to_report_on_but_the_holders(
    api: Api, running: Any, key: str, verb: str
) -> None:
    api.clock.advance(LEASE_SECONDS + 1)
    before = stored(api)

    reply = attack(api, verb, key, 1)

    assert_problem(reply, 409, "not-owner")
    assert stored(api) == before


@both_verbs
@pytest.mark.parametrize("key", ["worker", "admin"])
@pytest.mark.parametrize("state", ["pending", "expired", "completed", "failed"])
def test_nobody_reports_on_a_job_that_it_does_not_run(
    api: Api, state: str, key: str, verb: str
) -> None:
    api.enqueue()
    if state != "pending":
        job = api.claim("other-worker")
    if state == "expired":
        api.clock.advance(LEASE_SECONDS)
        api.queue.leases.recover(1)
    elif state == "completed":
        api.report("complete", job, "other-worker", result={"by": "printer"})
    elif state == "failed":
        api.report("fail", job, "other-worker", retryable=False)
    before = stored(api)

    replies = [attack(api, verb, key, attempt) for attempt in (None, 1, 2)]

    assert {json_of(reply)["code"] for reply in replies} == {"conflict"}
    assert stored(api) == before


@both_verbs
def test_a_finished_jobs_result_is_not_told_to_who_repeats_the_report(
    api: Api, running: Any, verb: str
) -> None:
    api.report("complete", running, "other-worker", result="canary77")

    reply = attack(api, verb, "worker", 1)

    assert b"canary77" not in reply.data


@both_verbs
@pytest.mark.parametrize("key", ["worker", "pdf-worker", "admin"])
def test_a_refusal_does_not_name_the_holder(api: Api, running: Any, key: str, verb: str) -> None:
    reply = attack(api, verb, key, 1)

    assert reply.status_code == 409
    assert b"printer" not in reply.data + str(reply.headers).encode()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/jobs/1", "/jobs/1/complete", "/jobs/1/fail", "/jobs/1/status"])
def test_there_is_no_other_way_to_change_a_running_job(
    api: Api, running: Any, path: str, method: str
) -> None:
    before = stored(api)

    reply = api.call(method, path, "admin", {"status": "completed"})

    assert reply.status_code in (404, 405)
    assert stored(api) == before
