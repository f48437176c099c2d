"""Every caller on every route, method and state of a job, as the authorization table has it."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from queuelog_core.http.routes import GROUPS, ROUTES
from tests.security.authorization_cells import FRONTS, Cell, cells, rows
from tests.security.authorization_table import (
    CALLERS,
    FIELDS,
    FILTERS,
    KEYS,
    METHODS,
    NUMBERS,
    RUNS,
    SEES,
    STATES,
    TOLD,
    UNFIT,
)
from tests.security.authorization_world import ON_EVERY_ANSWER, REQUEST_ID, Stage, World
from tests.support.servers import Answer

DECLARED = sorted({(c.method, c.path) for c in cells() if c.status not in (404, 405)})
# No gateway hands an undeclared method to a function.
CELLS = [c for c in cells() if c.front == "server" or (c.method, c.path) in DECLARED]
PATHS = sorted({cell.path for cell in CELLS})
HIDDEN = [
    cell
    for cell in CELLS
    if cell.caller in ("prodB", "notype")
    and cell.code in ("not-found", "conflict")
    and cell.state not in ("malformed", "absent")
]
SIGHTED = [caller for caller in CALLERS if caller not in UNFIT]
PROBLEM = {"type", "title", "status", "detail", "code", "request_id", "errors"}
on_each_front = pytest.mark.parametrize("front", FRONTS)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("authorization"))
    yield stage
    stage.close()


@pytest.fixture
def world(stage: Stage) -> Iterator[World]:
    yield stage.enter()
    stage.leave()


def hidden_from(caller: str) -> list[str]:
    """The words that no answer to this caller may hold."""
    told = rows(TOLD).get(caller, {})
    return [word for word in FIELDS if told.get(word) != "yes"]


def assert_refused(answer: Answer, cell: Cell) -> None:
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Request-Id"] == REQUEST_ID
    if cell.status == 405:
        allowed = {method for method, path in DECLARED if path == cell.path}
        assert set(answer.headers["Allow"].split(", ")) == allowed
    if cell.method != "HEAD":
        problem = answer.json
        assert problem.keys() == PROBLEM
        assert (problem["code"], problem["status"]) == (cell.code, cell.status)
        assert problem["type"] == f"urn:queuelog:problem:{cell.code}"
        assert problem["request_id"] == REQUEST_ID


def test_the_table_has_each_method_of_each_path_and_each_state_once(world: World) -> None:
    served = [
        (method, rule.rule.replace("<job_id:job_id>", "{id}"))
        for rule in world.app.url_map.iter_rules()
        for method in rule.methods or ()
    ]

    assert sorted(served) == DECLARED
    assert {(route.method, route.path) for route in ROUTES} <= {*DECLARED}
    assert len(set(map(str, CELLS))) == len(CELLS)
    for method, path in product(METHODS, {path for _, path in served}):
        states = {cell.state for cell in CELLS if (cell.method, cell.path) == (method, path)}
        assert states == {*STATES} if "{id}" in path else states, f"{method} {path}"


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_everybody_gets_the_answer_of_the_table_and_what_is_refused_changes_nothing(
    world: World, cell: Cell
) -> None:
    answer = world.ask(cell.front, cell.caller, cell.method, cell.path, cell.state)

    assert answer.status == cell.status, answer.text
    assert answer.headers.items() >= ON_EVERY_ANSWER
    if cell.code:
        assert_refused(answer, cell)
    assert cell.may_change_jobs or world.is_untouched()
    assert not [word for word in hidden_from(cell.caller) if word in answer.text]


@pytest.mark.parametrize("cell", HIDDEN, ids=str)
def test_a_job_that_is_hidden_is_told_like_one_that_does_not_exist(
    world: World, cell: Cell
) -> None:
    asked = (cell.front, cell.caller, cell.method, cell.path)

    hidden, absent = world.ask(*asked, cell.state), world.ask(*asked, "absent")

    assert hidden == absent


@pytest.mark.parametrize(("method", "path"), DECLARED)
def test_no_answer_tells_why_a_key_is_unfit(world: World, method: str, path: str) -> None:
    answers = {
        world.ask("server", caller, method, path, "running").text
        for caller in ("junk", "revoked", "expired")
    }

    assert len(answers) == 1


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_slash_at_the_end_leads_nowhere(world: World, path: str, caller: str) -> None:
    answers = [world.ask("server", caller, method, f"{path}/", "running") for method in METHODS]

    assert {answer.status for answer in answers} == {404}
    assert world.is_untouched()


@on_each_front
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("path", [path for method, path in DECLARED if method == "HEAD"])
def test_head_tells_what_get_tells_but_the_body(
    world: World, path: str, caller: str, front: str
) -> None:
    got, head = (world.ask(front, caller, method, path, "failed") for method in ("GET", "HEAD"))

    assert (head.status, head.text) == (got.status, "")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert world.is_untouched()


@pytest.mark.parametrize("group", GROUPS)
def test_a_function_serves_no_route_of_another(world: World, group: str) -> None:
    own = {(route.method, route.path) for route in ROUTES if route.group == group}
    foreign = [
        (method, path)
        for method, path in DECLARED
        if ("GET" if method == "HEAD" else method, path) not in own
    ]

    statuses = {
        world.invoke(group, "admin", method, path, "running").status for method, path in foreign
    }

    assert statuses <= {404, 405}
    assert world.is_untouched()


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
@pytest.mark.parametrize("caller", SIGHTED)
def test_whoami_tells_the_key_and_the_routes_that_the_table_opens_to_it(
    world: World, caller: str, front: str
) -> None:
    open_to_it = {
        f"{cell.method} {cell.path}"
        for cell in CELLS
        if cell.caller == caller and cell.method != "HEAD" and cell.state != "malformed"
        if cell.code not in ("forbidden", "method-not-allowed")
    }

    told = world.ask(front, caller, "GET", "/whoami").json

    powers = tuple(told[field] for field in ("name", "role", "priority_max", "types"))
    assert powers == KEYS[caller]
    assert set(told["may"]) == open_to_it
