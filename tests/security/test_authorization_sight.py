"""What a caller finds in lists, fields, numbers and claims, as the authorization tables have it."""

from typing import Any

import pytest

from tests.security.authorization_cells import FRONTS, rows
from tests.security.authorization_requests import CALLERS, UNFIT
from tests.security.authorization_sight import (
    FIELDS,
    FILTERS,
    NUMBERS,
    RUNS,
    SEES,
    TOLD,
    hidden_from,
)
from tests.security.authorization_world import World

SIGHTED = [caller for caller in CALLERS if caller not in UNFIT]
on_each_front = pytest.mark.parametrize("front", FRONTS)


def listed(world: World, front: str, caller: str, query: str) -> list[Any]:
    """All jobs of a list, whatever its pages are."""
    jobs, cursor = [], ""
    while cursor is not None:
        asked = f"{query}&cursor={cursor}" if cursor else query
        answer = world.ask(front, caller, "GET", "/jobs", query=asked)
        assert answer.status == 200, answer.text
        jobs += answer.json["jobs"]
        cursor = answer.json["next_cursor"]
    return jobs


@on_each_front
@pytest.mark.parametrize("caller", SIGHTED)
@pytest.mark.parametrize("query", FILTERS)
def test_a_list_shows_what_the_caller_may_see(
    world: World, query: str, caller: str, front: str
) -> None:
    seen = {name for name, sees in rows(SEES).items() if sees[caller] == "yes"}

    jobs = listed(world, front, caller, query)

    shown = sorted(world.ids[name] for name in seen.intersection(FILTERS[query].split()))
    assert sorted(job["id"] for job in jobs) == shown


@on_each_front
@pytest.mark.parametrize("caller", rows(TOLD))
@pytest.mark.parametrize("word", FIELDS)
def test_a_field_is_told_or_null(world: World, word: str, caller: str, front: str) -> None:
    state, field = FIELDS[word]

    read = world.ask(front, caller, "GET", "/jobs/{id}", state).json
    (shown,) = [job for job in listed(world, front, caller, "") if job["id"] == world.ids[state]]

    assert shown == read
    assert read[field] is None if word in hidden_from(caller) else word in str(read[field])


@on_each_front
@pytest.mark.parametrize("caller", rows(TOLD))
def test_the_errors_of_attempts_are_told_to_whom_the_error_is(
    world: World, caller: str, front: str
) -> None:
    read = world.ask(front, caller, "GET", "/jobs/{id}/attempts", "failed").json

    (attempt,) = read["attempts"]
    assert attempt["error"] == (None if "secret-error" in hidden_from(caller) else "secret-error")


@on_each_front
@pytest.mark.parametrize("caller", RUNS)
def test_the_numbers_are_those_of_the_types_that_the_caller_runs(
    world: World, caller: str, front: str
) -> None:
    numbers = [rows(NUMBERS)[name] for name in RUNS[caller]]

    told = world.ask(front, caller, "GET", "/stats").json

    statuses = ("pending", "running", "completed", "failed", "cancelled")
    kept = [{status: int(row[status]) for status in statuses} for row in numbers]
    assert told["types"] == dict(zip(RUNS[caller], kept, strict=True))
    for name, column in [("due", "due"), ("delayed", "delayed"), ("expired_leases", "overdue")]:
        assert told[name]["count"] == sum(int(row[column]) for row in numbers)
    waiting = {name for name, age in told["oldest_due_age_seconds"].items() if age is not None}
    assert waiting == {row["waiting"] for row in numbers}


@on_each_front
@pytest.mark.parametrize("caller", RUNS)
def test_a_caller_claims_all_of_its_types_and_nothing_else(
    world: World, caller: str, front: str
) -> None:
    claimed = set()
    while (answer := world.ask(front, caller, "POST", "/jobs/claim")).status == 200:
        claimed.add(answer.json["type"])

    assert sorted(claimed) == RUNS[caller]


@on_each_front
@pytest.mark.parametrize("caller", RUNS)
def test_a_caller_that_claims_many_gets_all_that_is_due_of_its_types(
    world: World, caller: str, front: str
) -> None:
    claimed = world.ask(front, caller, "POST", "/jobs/claim", "many").json["jobs"]

    due = sum(int(rows(NUMBERS)[name]["due"]) for name in RUNS[caller])
    overdue = sum(int(rows(NUMBERS)[name]["overdue"]) for name in RUNS[caller])
    assert len(claimed) == due + overdue
    assert sorted({job["type"] for job in claimed}) == RUNS[caller]


def test_the_key_of_a_claim_brings_nobody_the_jobs_of_another(world: World) -> None:
    asked: tuple[Any, ...] = ("/jobs/claim", {"types": ["email"]})
    key = {"Idempotency-Key": "one-key"}

    first, other, again = (
        world.post(caller, *asked, **key)["id"] for caller in ("workA", "workB", "workA")
    )

    assert other != first == again
