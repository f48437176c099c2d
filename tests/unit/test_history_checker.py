"""The checker of histories, on histories written by hand: what it must find, and what it must not.

One job of one producer, claimed once and completed, is the history that each of them changes.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queuelog_core.client import Attempt, Job
from tests.support.factories import NOON
from tests.support.held import held_job
from tests.support.history import OK, REFUSED, UNKNOWN, Call, History, Try
from tests.support.history_checker import SETS, check, figures
from tests.support.history_evidence import End, Grant

LEASE_MS = 2_000
RESULT = {"by": "mailer-0.0"}
ASKED = {"type": "email", "payload": {}, "priority": "medium", "max_retries": 25}


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(NOON / 1000, UTC) + timedelta(seconds=seconds)


def called(verb: str, second: float, asked: Any, outcome: str = OK, **more: Any) -> Call:
    """A call that took a tenth of a second; nobody heard the end of one that is UNKNOWN."""
    began_at = round(second * 1e9)
    ended_at = None if outcome == UNKNOWN else began_at + 10**8
    fields: dict[str, Any] = {"life": "shop-0.0", "identity": "shop", "told": {}} | more
    fields |= {"invoked_at": began_at, "ended_at": ended_at}
    return Call(**fields, verb=verb, asked=asked, outcome=outcome)


def enqueue(job: int = 1, key: str = "1", second: float = 0, **more: Any) -> Call:
    fields = {name: more.pop(name) for name in list(more) if name in {*ASKED, "delay_seconds"}}
    asked = {"jobs": [{**ASKED, **fields, "idempotency_key": key}]}
    return called("enqueue", second, asked, **{"told": {"ids": [job]}, **more})


def claim(job: int = 1, attempt: int = 1, second: float = 1, **more: Any) -> Call:
    key, again = more.pop("key", f"key at {second}"), more.pop("again", False)
    instant = NOON + round(second * 1000)
    grant = Grant(job, attempt, instant, instant + LEASE_MS, NOON, more.pop("priority", "medium"))
    who = {"life": "mailer-0.0", "identity": "mailer"} | more
    return called("claim", second, {"key": key, "again": again}, told={"jobs": [grant]}, **who)


def report(verb: str = "complete", second: float = 2, job: int = 1, **more: Any) -> Call:
    asked = {"job": job, "attempt": more.pop("attempt", 1), "odd": more.pop("odd", False)}
    who = {"life": "mailer-0.0", "identity": "mailer"} | more
    return called(verb, second, {**asked, "result": who.pop("result", RESULT)}, **who)


def attempt(number: int = 1, outcome: str | None = "completed", **more: Any) -> Attempt:
    ended_at = None if outcome is None else at(more.pop("ended", 2))
    worker = more.pop("worker", "mailer")
    return Attempt(number, worker, at(more.pop("claimed", 1)), ended_at, outcome, None, None)


def end(*attempts: Attempt, **fields: Any) -> End:
    """A job and its attempts; without any, it was completed at once."""
    history = attempts or (attempt(),)
    made: dict[str, Any] = {
        "id": 1,
        "status": "completed",
        "idempotency_key": "1",
        "result": RESULT,
        "max_retries": 25,
        "attempt": history[-1].attempt,
        "retry_count": sum(each.outcome in ("failed", "expired") for each in history),
    }
    job: Job = held_job().job._replace(**(made | fields))
    return End(job, history)


LOST_LEASE = attempt(1, "expired", ended=3)
SECOND = attempt(2, claimed=3.5, ended=4)
STORY = [enqueue(), claim(), report()]
"""What is acknowledged when all goes well."""
AGAIN = [enqueue(), claim(), claim(attempt=2, second=3.5), report(attempt=2, second=4)]
"""And when the first worker lost its lease."""
BETTER = end(attempt(claimed=5, ended=6), id=2, idempotency_key="2", priority="high")
PASSED_OVER = [enqueue(2, "2", priority="high"), report(second=6, job=2)]

SOUND: dict[str, tuple[Sequence[Call], Sequence[End]]] = {
    "all goes well": (STORY, [end()]),
    "a worker dies": (AGAIN, [end(LOST_LEASE, SECOND)]),
    "an enqueue is acknowledged twice": ([*STORY, enqueue(second=9)], [end()]),
    "an enqueue that nobody heard of was done": (
        [enqueue(outcome=UNKNOWN), *STORY[1:]],
        [end()],
    ),
    "an enqueue that nobody heard of was not done": (
        [*STORY, enqueue(2, "2", outcome=UNKNOWN)],
        [end()],
    ),
    "a completion that nobody heard of was done": (
        [*STORY[:2], report(outcome=UNKNOWN)],
        [end()],
    ),
    "a claim is sent again by the next life": (
        [*STORY, claim(key="key at 1", second=1.5, life="mailer-0.1", again=True)],
        [end()],
    ),
    "a stale report is refused": (
        [*AGAIN, report(second=5, outcome=REFUSED, told={"code": "lease-lost"})],
        [end(LOST_LEASE, SECOND)],
    ),
    "a completion is sent again and known": ([*STORY, report(second=3, replayed=True)], [end()]),
    "a better job came while the claim was under way": (
        [*STORY, enqueue(2, "2", 0.95, priority="high"), PASSED_OVER[1]],
        [end(), BETTER],
    ),
    "old attempts are forgotten by design": (
        [enqueue(), claim(), claim(attempt=12, second=3.5), report(attempt=12, second=4)],
        [end(attempt(12, claimed=3.5, ended=4))],
    ),
}
FAULTS: dict[str, tuple[str, Sequence[Call], Sequence[End]]] = {
    "an acknowledged job is gone": ("lost", STORY, []),
    "an acknowledged job is another's": ("lost", STORY, [end(producer_id="blog")]),
    "a job that nobody asked for": ("unexpected", STORY, [end(), end(id=2, producer_id="blog")]),
    "a payload that nobody sent": ("unexpected", STORY, [end(payload={"number": 2})]),
    "a result that nobody sent": ("unexpected", STORY, [end(result={"by": "nobody"})]),
    "a cancellation that nobody asked for": (
        "unexpected",
        STORY[:2],
        [end(attempt(1, "failed"), status="cancelled")],
    ),
    "a job has not ended": ("stuck", STORY[:2], [end(attempt(1, None), status="running")]),
    "one key made two jobs": ("key duplicates", STORY, [end(), end(id=2)]),
    "one key was answered with two jobs": ("key duplicates", [*STORY, enqueue(2)], [end()]),
    "a valid request is refused": (
        "odd answers",
        [*STORY, enqueue(key="2", outcome=REFUSED, told={"code": "forbidden"})],
        [end()],
    ),
    "a fault of the server": (
        "odd answers",
        [*STORY, enqueue(key="2", outcome=UNKNOWN, told={"status": 500})],
        [end()],
    ),
    "a completion in time is refused": (
        "wrongly refused",
        [*STORY[:2], report(outcome=REFUSED, told={"code": "conflict"})],
        [end(attempt(1, "expired", ended=4), status="failed", max_retries=1)],
    ),
    "an attempt has two holders": (
        "double claims",
        [*STORY, claim(second=1.5, life="mailer-1.0")],
        [end()],
    ),
    "an acknowledged claim is gone": (
        "forgotten",
        [*STORY, claim(attempt=2, second=5)],
        [end()],
    ),
    "an acknowledged failure is gone": (
        "forgotten",
        [*AGAIN, report("fail", 2)],
        [end(LOST_LEASE, SECOND)],
    ),
    "a stranger reports": (
        "stale reports",
        [*STORY[:2], report(identity="printer", life="printer-0.0")],
        [end()],
    ),
    "a stale heartbeat counts": (
        "stale reports",
        [*AGAIN, report("heartbeat", 4, told={"lease_expires_at": NOON})],
        [end(LOST_LEASE, SECOND)],
    ),
    "a job is completed twice": ("completed twice", [*STORY, report(second=3)], [end()]),
    "another completion is taken for a repeat": (
        "completed twice",
        [*STORY, report(second=3, result={"by": "mailer-0.1"}, replayed=True)],
        [end()],
    ),
    "an attempt ends in two ways": ("reported twice", [*STORY, report("release", 1.5)], [end()]),
    "a lease ends before its time": (
        "leases taken early",
        AGAIN,
        [end(attempt(1, "expired", ended=2.9), SECOND)],
    ),
    "a heartbeat is not believed": (
        "leases taken early",
        [*AGAIN, report("heartbeat", 2, told={"lease_expires_at": NOON + 4_000})],
        [end(LOST_LEASE, SECOND)],
    ),
    "an attempt is missing": ("unexplained", STORY, [end(attempt=2)]),
    "two attempts at a time": (
        "unexplained",
        AGAIN,
        [end(attempt(1, "expired", ended=3.7), SECOND)],
    ),
    "a retry too many": ("unexplained", STORY, [end(retry_count=1)]),
    "a budget overdrawn": ("unexplained", AGAIN, [end(LOST_LEASE, SECOND, max_retries=0)]),
    "a failed job that never failed": (
        "unexplained",
        STORY[:2],
        [end(attempt(1, "released"), status="failed")],
    ),
    "a better job was passed over": (
        "inversions",
        [*STORY, *PASSED_OVER],
        [end(), BETTER],
    ),
    "an older job was passed over": (
        "inversions",
        [*STORY, *PASSED_OVER[1:], enqueue(2, "2")],
        [end(), end(*BETTER.attempts, id=2, idempotency_key="2", created_at=at(-1))],
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_history_has_no_findings(name: str) -> None:
    assert check(*SOUND[name]) == {}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    expected, calls, ends = FAULTS[name]
    assert expected in check(calls, ends)


def test_every_set_has_a_fault_that_fills_it() -> None:
    assert {expected for expected, _, _ in FAULTS.values()} == set(SETS)


def test_figures_count_what_was_done_and_what_was_in_doubt() -> None:
    calls = [*AGAIN, enqueue(second=9), enqueue(2, "2", outcome=UNKNOWN)]
    tries = [Try("shop-0.0", "server-0", 1, 2, "answered", True)]
    told = figures(History(calls, tries), [end(LOST_LEASE, SECOND), end(id=2)])

    assert told["acknowledged"] == told["duplicates acknowledged"] == told["recovered"] == 1
    assert (told["replays"], told["expiries"], told["claims"], told["reports"]) == (1, 1, 2, 1)
