"""Each verb is done and committed, its answer is lost on the wire, and it is sent again: the repeat
is answered as the contract says, and adds nothing to what one call does."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.http.lost_answers_table import LEASE, MOVED, REQUESTS, STATES, STEPS, TABLE
from tests.support.engines import contents
from tests.support.http import Api
from tests.support.lossy import Request, send, send_and_lose_the_answer, served
from tests.support.servers import Answer

ROWS = [
    (verb, state, lost, again[-1] if again else lost)
    for verb, rows in TABLE.items()
    for states, lost, *again in rows
    for state in states.split()
]
SAME = {"X-Request-Id": "same"}
NOTHING_DONE = re.compile(r"[45].*|204|200 jobs|200 0 of 0|.* (replayed|kept)")


class Call(NamedTuple):
    """A call, in the words of the table, and whether it changed anything in the store."""

    answer: Answer
    told: str
    changed: bool


class World:
    """A queue behind real sockets, and all that its store holds."""

    def __init__(self, api: Api, port: int) -> None:
        self.api = api
        self._port = port

    def happen(self, situation: str) -> None:
        for step in situation.split():
            STEPS[step](self.api)

    def lose(self, request: Request) -> Call:
        return self._watch(send_and_lose_the_answer, request)

    def send(self, request: Request) -> Call:
        return self._watch(send, request)

    def stored(self) -> dict[str, Any]:
        """Job 1 as it is stored."""
        job = self.api.store.get(1)
        assert job is not None
        return job._asdict()

    def _watch(self, call: Callable[[int, Request], Answer], request: Request) -> Call:
        before, late = contents(self.api.store), self._late_reports()
        answer = call(self._port, request._replace(headers={**request.headers, **SAME}))
        changed = contents(self.api.store) != before
        words = [
            str(answer.status),
            *tell(answer, changed),
            *["late"] * (self._late_reports() - late),
        ]
        return Call(answer, " ".join(words), changed)

    def _late_reports(self) -> int:
        return self.api.store.stats(self.api.clock.now, None).late_reports


@pytest.fixture
def world(api: Api) -> Iterator[World]:
    with served(api.client.application) as port:
        yield World(api, port)


def tell(answer: Answer, changed: bool) -> Iterator[str]:
    """The words of the table after the status."""
    document = answer.json if answer.text else {}
    if "code" in document:
        yield document["code"]
    elif "matched" in document:
        yield f"{document['redriven']} of {document['matched']}"
        yield from ["and more"] * document["more"]
    elif "cancel_requested" in document:
        yield "extended" if changed else "kept"
    elif "results" in document:
        for result in document["results"]:
            repeated = "mismatch" if result["payload_mismatch"] else "replayed"
            assert result["replayed"] == (result["status"] == 200)
            yield repeated if result["replayed"] else "created"
    elif "jobs" in document:
        yield " ".join(["jobs", *(str(job["id"]) for job in document["jobs"])])
    elif document:
        yield document["status"]
    if answer.headers.get("Idempotency-Payload-Mismatch") == "true":
        yield "mismatch"
    if answer.headers.get("Idempotent-Replayed") == "true":
        yield "replayed"


def jobs_in(answer: Answer) -> list[Any]:
    """The jobs that an answer shows."""
    document = answer.json if answer.text else {}
    return [document] if "payload" in document else document.get("jobs", [])


def assert_shows_the_present(world: World, verb: str, answer: Answer) -> None:
    shown = jobs_in(answer)
    assert shown == [world.api.get(job, REQUESTS[verb].key) for job in shown]


def test_the_table_tells_every_verb_in_every_state_once() -> None:
    told = [(verb, state) for verb, state, *_ in ROWS]

    assert sorted(told) == sorted((verb, state) for verb in REQUESTS for state in STATES)


@pytest.mark.parametrize(("verb", "state", "lost", "again"), ROWS)
def test_a_repeat_after_a_lost_answer_is_answered_and_adds_nothing(
    world: World, verb: str, state: str, lost: str, again: str
) -> None:
    world.happen(STATES[state])
    world.api.clock.advance(1)

    first = world.lose(REQUESTS[verb])
    # What a heartbeat gives depends on the time, so its repeat comes in the same instant.
    world.api.clock.advance(0 if verb == "heartbeat" else 1)
    second = world.send(REQUESTS[verb])

    assert (first.told, second.told) == (lost, again)
    assert first.changed == (not NOTHING_DONE.fullmatch(lost))
    assert not second.changed
    if verb not in ("batch", "claim many", "redrive many"):
        assert second.answer.text == first.answer.text
    assert jobs_in(second.answer) == jobs_in(first.answer)
    assert_shows_the_present(world, verb, second.answer)


@pytest.mark.parametrize(
    ("verb", "state", "happened", "again"),
    [(verb, *row) for verb, rows in MOVED.items() for row in rows],
)
def test_a_repeat_is_answered_whatever_happened_since(
    world: World, verb: str, state: str, happened: str, again: str
) -> None:
    world.happen(STATES[state])
    first = world.lose(REQUESTS[verb])
    world.happen(happened)

    second = world.send(REQUESTS[verb])

    assert first.told.startswith("2")
    assert second.told == again
    assert second.changed == (not NOTHING_DONE.fullmatch(again))
    assert_shows_the_present(world, verb, second.answer)


@pytest.mark.parametrize(
    ("extend", "waited", "seconds"),
    [(None, 1, LEASE), (600, 30, 600), (10, 1, LEASE - 30 - 1), (3600, 40, 3600 - 30 - 40)],
    ids=["the type's own", "longer", "shorter", "to the longest run"],
)
def test_a_repeated_heartbeat_leaves_the_lease_as_one_heartbeat_at_that_time_would(
    world: World, extend: int | None, waited: int, seconds: int
) -> None:
    world.happen(STATES["mine"])
    request = REQUESTS["heartbeat"]._replace(body={"attempt": 1, "extend_seconds": extend})
    world.api.clock.advance(30)
    world.lose(request)
    before = world.stored()
    world.api.clock.advance(waited)

    again = world.send(request)

    lease = {"lease_expires_at": world.api.clock.now + seconds * 1000}
    extended = {"updated_at": world.api.clock.now, "version": before["version"] + 1}
    assert again.answer.json["lease_seconds_remaining"] == seconds
    assert world.stored() == before | lease | (extended if again.changed else {})


def test_a_job_whose_every_answer_is_lost_runs_and_fails_as_often_as_any_other(
    world: World,
) -> None:
    def lose_and_repeat(verb: str, body: Any, **headers: str) -> None:
        request = REQUESTS[verb]._replace(body=body, headers=headers)
        lost = world.lose(request)
        assert (lost.changed, world.send(request).changed) == (True, False)

    lose_and_repeat("enqueue by field", REQUESTS["enqueue by field"].body)
    for run in range(1, 5):
        lose_and_repeat("claim", {}, **{"Idempotency-Key": f"run {run}"})
        lose_and_repeat("heartbeat", {"attempt": run, "extend_seconds": 600})
        lose_and_repeat("fail", {"attempt": run, "error": "boom"})

    stored = world.stored()
    assert (stored["status"], stored["attempt"], stored["retry_count"]) == ("failed", 4, 3)
    assert stored["version"] == 1 + 4 * 3
    assert world.api.get({"id": 1})["error"] == "boom"


def test_twenty_releases_whose_answers_are_lost_are_free_and_the_next_spends_one_retry(
    world: World,
) -> None:
    world.happen("enqueued")
    for attempt in range(1, 22):
        world.happen("claimed")
        request = REQUESTS["release"]._replace(body={"attempt": attempt})
        world.lose(request)
        world.send(request)
        released = world.stored()
        assert released["release_count"] == min(attempt, 20)
        assert released["retry_count"] == (attempt == 21)


def test_a_bulk_redrive_that_is_repeated_goes_on_with_the_next_and_sends_no_job_twice(
    world: World,
) -> None:
    for number in range(3):
        job = world.api.enqueue()
        world.api.call("POST", f"/jobs/{job['id']}/cancel")
        world.api.clock.advance(number)
    request = REQUESTS["redrive many"]._replace(body={"all": True, "limit": 2})

    told = [world.lose(request).told, world.send(request).told, world.send(request).told]

    assert told == ["200 2 of 2 and more", "200 1 of 1", "200 0 of 0"]
    assert world.stored()["version"] == 3
