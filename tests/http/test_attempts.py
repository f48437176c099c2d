"""The attempts of a job: the newest ten with how each ended, the texts for admins only."""

from typing import Any

import pytest

from queuelog_core.clock import format_instant
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import NOON
from tests.support.http import Api, assert_problem, json_of

LEASE = 300


def at(seconds: float) -> str:
    return format_instant(NOON + round(seconds * 1000))


def attempts(api: Api, key: str = "admin") -> Any:
    reply = api.call("GET", "/jobs/1/attempts", key)
    assert reply.status_code == 200
    assert list(json_of(reply)) == ["attempts", "dropped"]
    return json_of(reply)


def entry(attempt: int = 1, **fields: Any) -> Any:
    """An attempt of the worker's that began at noon."""
    return {
        "attempt": attempt,
        "worker_id": "mailer",
        "claimed_at": at(0),
        "ended_at": None,
        "outcome": None,
        "error_code": None,
        "error": None,
    } | fields


def run(api: Api, **fields: Any) -> Any:
    api.enqueue(**fields)
    return api.claim()


def fail_often(api: Api, number: int) -> None:
    api.enqueue(max_retries=25)
    for count in range(1, number + 1):
        api.report("fail", api.claim(), error=f"text {count}", error_code=f"code_{count}")


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_job_that_never_ran_has_no_attempts(api: Api, cancelled: bool) -> None:
    api.enqueue()
    if cancelled:
        api.call("POST", "/jobs/1/cancel")

    assert attempts(api) == {"attempts": [], "dropped": 0}


@pytest.mark.parametrize("waited", [0, LEASE + 1])
@pytest.mark.parametrize("cancel", [True, False])
def test_an_attempt_that_runs_has_no_end_yet(api: Api, cancel: bool, waited: int) -> None:
    """Also when its lease has run out and nobody has settled it."""
    run(api)
    if cancel:
        api.call("POST", "/jobs/1/cancel")
    api.clock.advance(waited)

    assert attempts(api) == {"attempts": [entry()], "dropped": 0}


@pytest.mark.parametrize(
    ("verb", "body", "ended"),
    [
        ("complete", {"result": "done"}, {"outcome": "completed"}),
        ("fail", {}, {"outcome": "failed"}),
        (
            "fail",
            {"error": "boom", "error_code": "smtp_down"},
            {"outcome": "failed", "error": "boom", "error_code": "smtp_down"},
        ),
        ("fail", {"error": "boom", "retryable": False}, {"outcome": "failed", "error": "boom"}),
        ("release", {}, {"outcome": "released"}),
    ],
)
@pytest.mark.parametrize("cancel", [True, False])
def test_a_report_ends_the_attempt(
    api: Api, cancel: bool, verb: str, body: Any, ended: Any
) -> None:
    job = run(api)
    if cancel:
        api.call("POST", "/jobs/1/cancel")
    api.clock.advance(10)

    api.report(verb, job, **body)

    assert attempts(api)["attempts"] == [entry(ended_at=at(10), **ended)]


@pytest.mark.parametrize("cancel", [True, False])
def test_the_end_of_the_lease_ends_the_attempt_when_it_is_settled(api: Api, cancel: bool) -> None:
    run(api)
    api.clock.advance(LEASE + 10)
    if cancel:
        api.call("POST", "/jobs/1/cancel")
    else:
        api.queue.leases.recover(1)

    assert attempts(api)["attempts"] == [
        entry(ended_at=at(LEASE + 10), outcome="expired", error_code="lease_expired")
    ]


def test_a_late_completion_rewrites_how_the_attempt_ended(api: Api) -> None:
    job = run(api)
    api.clock.advance(LEASE)
    api.queue.leases.recover(1)
    api.clock.advance(10)

    api.report("complete", job)

    assert attempts(api)["attempts"] == [entry(outcome="completed", ended_at=at(LEASE + 10))]


def test_the_oldest_comes_first_and_each_has_its_own_worker_times_and_text(api: Api) -> None:
    api.report("fail", run(api), error="first")
    api.clock.advance(10)
    second = api.claim("other-worker")
    api.clock.advance(10)
    api.report("fail", second, "other-worker", error="second", error_code="two")
    api.claim()

    assert attempts(api) == {
        "attempts": [
            entry(outcome="failed", ended_at=at(0), error="first"),
            {
                "attempt": 2,
                "worker_id": "printer",
                "claimed_at": at(10),
                "ended_at": at(20),
                "outcome": "failed",
                "error_code": "two",
                "error": "second",
            },
            entry(3, claimed_at=at(20)),
        ],
        "dropped": 0,
    }


def test_a_completion_clears_the_error_of_the_job_and_not_those_of_its_attempts(api: Api) -> None:
    api.report("fail", run(api), error="boom", error_code="boom")
    api.report("complete", api.claim())

    assert api.get({"id": 1})["error"] is None
    assert [(one["error"], one["error_code"]) for one in attempts(api)["attempts"]] == [
        ("boom", "boom"),
        (None, None),
    ]


@pytest.mark.parametrize(("runs", "dropped"), [(9, 0), (10, 0), (11, 1), (23, 13)])
def test_the_newest_ten_are_kept_and_dropped_tells_how_many_are_gone(
    api: Api, runs: int, dropped: int
) -> None:
    fail_often(api, runs)

    told = attempts(api)

    expected = [
        entry(n, ended_at=at(0), outcome="failed", error=f"text {n}", error_code=f"code_{n}")
        for n in range(dropped + 1, runs + 1)
    ]
    assert told == {"attempts": expected, "dropped": dropped}
    assert api.get({"id": 1})["attempt"] == told["attempts"][-1]["attempt"] == runs


def test_a_running_attempt_is_one_of_the_ten(api: Api) -> None:
    fail_often(api, 10)
    job = api.claim()

    told = attempts(api)

    assert [one["attempt"] for one in told["attempts"]] == list(range(2, 12))
    assert (told["attempts"][-1], told["dropped"]) == (entry(11), 1)
    assert job["attempt"] == 11


def test_a_redrive_keeps_the_attempts_and_goes_on_counting(api: Api) -> None:
    api.report("fail", run(api), error="boom", retryable=False)
    before = attempts(api)

    api.call("POST", "/jobs/1/redrive")

    assert attempts(api) == before
    assert api.claim()["attempt"] == 2
    assert attempts(api)["attempts"] == [*before["attempts"], entry(2)]


@pytest.mark.parametrize(
    ("key", "error"),
    [("producer", None), ("worker", None), ("other-worker", None), ("admin", "boom")],
)
def test_the_texts_are_for_admins_only(api: Api, key: str, error: str | None) -> None:
    api.report("fail", run(api), error="boom", error_code="smtp_down")

    (told,) = attempts(api, key)["attempts"]

    assert told == entry(outcome="failed", ended_at=at(0), error=error, error_code="smtp_down")


def test_a_text_is_the_scrubbed_one(api: Api) -> None:
    api.report("fail", run(api), error="password=hunter2hunter2")

    (told,) = attempts(api)["attempts"]

    assert told["error"] == api.get({"id": 1})["error"] != "password=hunter2hunter2"
    assert "hunter2" not in told["error"]


@pytest.mark.parametrize("key", ["other-producer", "pdf-worker"])
def test_a_job_of_others_is_told_like_one_that_does_not_exist(api: Api, key: str) -> None:
    run(api)
    same = {"X-Request-Id": "same"}

    foreign = api.call("GET", "/jobs/1/attempts", key, headers=same)
    unknown = api.call("GET", "/jobs/999/attempts", key, headers=same)

    assert_problem(foreign, 404, "not-found")
    assert foreign.data == unknown.data


def test_the_job_and_its_texts_are_read_as_of_one_instant(api: Api, store: SqliteStore) -> None:
    api.enqueue()
    sent: list[str] = []
    thread_connection(store).set_trace_callback(sent.append)

    api.call("GET", "/jobs/1/attempts", "admin")

    assert [text.split()[0] for text in sent] == ["BEGIN", "SELECT", "SELECT", "SELECT", "COMMIT"]
