"""Every caller on every route, method and state of a job, as the authorization table has it."""

from typing import Any

import pytest

from queuelog_core.http.routes import GROUPS, ROUTES
from tests.security.authorization_cells import (
    FRONTS,
    FUNCTIONS,
    PATHS,
    ROUTELESS,
    Cell,
    cells,
)
from tests.security.authorization_requests import BODIES, CALLERS, KEYS, METHODS, STATES, UNFIT
from tests.security.authorization_sight import REDRIVEN, hidden_from
from tests.security.authorization_world import ON_EVERY_ANSWER, REQUEST_ID, World
from tests.support.servers import Answer

CELLS = [*cells()]
DECLARED = sorted(FUNCTIONS)
HIDDEN = [
    cell
    for cell in CELLS
    if cell.caller in ("prodB", "notype")
    and cell.code in ("not-found", "conflict")
    and cell.state != "absent"
]
SIGHTED = [caller for caller in CALLERS if caller not in UNFIT]
PROBLEM = {"type", "title", "status", "detail", "code", "request_id", "errors"}
on_each_front = pytest.mark.parametrize("front", FRONTS)


def ask(world: World, cell: Cell) -> Answer:
    """What the cell is about, answered as every answer has to be."""
    answer = world.ask(cell.front, cell.caller, cell.method, cell.path, cell.state)
    assert answer.status == cell.status, f"{cell}: {answer.text}"
    assert answer.headers.items() >= ON_EVERY_ANSWER
    if cell.code:
        assert_refused(answer, cell)
    return answer


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
    for method, path in DECLARED:
        states = {cell.state for cell in CELLS if (cell.method, cell.path) == (method, path)}
        bodies = {*BODIES.get(f"{method} {path}", {}), "-"}
        assert states == ({*STATES} - {"malformed"} if "{id}" in path else bodies), path


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_everybody_gets_the_answer_of_the_table_and_changes_no_more_than_it_grants(
    world: World, cell: Cell
) -> None:
    answer = ask(world, cell)

    changed = world.changed()
    assert bool(changed) == cell.changes_jobs
    assert "{id}" not in cell.path or changed <= {world.ids[cell.state]}
    assert not [word for word in hidden_from(cell.caller) if word in answer.text]


@pytest.mark.parametrize(("method", "path"), ROUTELESS)
def test_what_no_route_takes_is_refused_whoever_asks(world: World, method: str, path: str) -> None:
    for cell in ROUTELESS[method, path]:
        ask(world, cell)

    assert not world.changed()


@pytest.mark.parametrize("cell", HIDDEN, ids=str)
def test_a_job_that_is_hidden_is_told_like_one_that_does_not_exist(
    world: World, cell: Cell
) -> None:
    asked = (cell.front, cell.caller, cell.method, cell.path)

    hidden, absent = world.ask(*asked, cell.state), world.ask(*asked, "absent")

    assert hidden == absent


@on_each_front
@pytest.mark.parametrize("caller", ["prodA", "prodB", "admin"])
def test_each_job_of_a_batch_is_answered_as_if_it_came_alone(
    world: World, caller: str, front: str
) -> None:
    alone = {
        cell.state: (cell.status, cell.code)
        for cell in CELLS
        if (cell.front, cell.caller, cell.method, cell.path) == (front, caller, "POST", "/jobs")
    }

    results = world.ask(front, caller, "POST", "/jobs/batch", "each").json["results"]

    told = [(result["status"], result.get("error", {}).get("code", "")) for result in results]
    assert told == [alone[body] for body in BODIES["POST /jobs"]]
    assert world.changed() == {result["id"] for result in results if result["status"] == 201}


@on_each_front
@pytest.mark.parametrize("body", REDRIVEN)
def test_an_admin_redrives_the_jobs_of_its_filter_and_no_other(
    world: World, body: str, front: str
) -> None:
    told = world.ask(front, "admin", "POST", "/jobs/redrive", body).json

    redriven = {world.ids[state] for state in REDRIVEN[body].split()}
    assert world.changed() == redriven
    assert told["redriven"] == len(redriven)


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
    assert not world.changed()


@on_each_front
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("path", [path for method, path in DECLARED if method == "HEAD"])
def test_head_tells_what_get_tells_but_the_body(
    world: World, path: str, caller: str, front: str
) -> None:
    got, head = (world.ask(front, caller, method, path, "failed") for method in ("GET", "HEAD"))

    assert (head.status, head.text) == (got.status, "")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert not world.changed()


@pytest.mark.parametrize("group", GROUPS)
def test_a_function_serves_no_route_of_another(world: World, group: str) -> None:
    foreign = [asked for asked, function in FUNCTIONS.items() if function != group]

    statuses = {
        world.invoke(group, "admin", method, path, "running").status for method, path in foreign
    }

    assert len(foreign) < len(FUNCTIONS), "the table names each function"
    assert statuses <= {404, 405}
    assert not world.changed()


@on_each_front
@pytest.mark.parametrize("caller", SIGHTED)
def test_whoami_tells_the_key_and_the_routes_that_the_table_opens_to_it(
    world: World, caller: str, front: str
) -> None:
    open_to_it = {
        f"{cell.method} {cell.path}"
        for cell in CELLS
        if cell.caller == caller and cell.method != "HEAD" and cell.code != "forbidden"
    }

    told: Any = world.ask(front, caller, "GET", "/whoami").json

    powers = tuple(told[field] for field in ("name", "role", "priority_max", "types"))
    assert powers == KEYS[caller]
    assert set(told["may"]) == open_to_it
