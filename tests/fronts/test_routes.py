"""Every route on every front: what it says when all is well, and when it is not."""

from typing import Any

import pytest

from queuelog_core.http.routes import ROUTES, Route
from queuelog_core.identity import Role
from tests.fronts.front import Answer
from tests.fronts.routes_table import AT_A_GATEWAY, EMPTY_KEY, REFUSALS, SUCCESSES
from tests.fronts.scene import Scene
from tests.http.test_openapi_answers import answers, check

BY_NAME = {route.name: route for route in ROUTES}
KEYED = [route for route in ROUTES if route.roles]
ROLES = {"producer": Role.PRODUCER, "worker": Role.WORKER, "admin": Role.ADMIN}


def assert_refused(scene: Scene, answer: Answer, status: int, code: str) -> None:
    """The problem document, or at a gateway the status that it says by itself."""
    if scene.front.gateway and status in AT_A_GATEWAY:
        assert answer.status == AT_A_GATEWAY[status], answer
        return
    assert answer.status == status, answer
    assert media_type(answer) == "application/problem+json"
    assert answer.json["code"] == code


def media_type(answer: Answer) -> str:
    """serverless-offline adds a charset."""
    return answer.headers["content-type"].removesuffix("; charset=utf-8")


def test_no_route_is_missing() -> None:
    assert set(SUCCESSES) == set(REFUSALS) == set(BY_NAME)


@pytest.mark.parametrize("name", SUCCESSES)
def test_a_route_answers_as_its_document_says(scene: Scene, name: str) -> None:
    status, values, ask = SUCCESSES[name]

    answer = ask(scene)

    assert answer.status == status, answer
    assert media_type(answer) == "application/json"
    assert answer.headers["x-request-id"]
    document = answer.json
    check(answers(BY_NAME[name])[str(status)]["content"]["application/json"]["schema"], document)
    assert {field: document[field] for field in values} == values


@pytest.mark.parametrize("name", REFUSALS)
def test_a_route_refuses_as_its_document_says(scene: Scene, name: str) -> None:
    status, code, ask = REFUSALS[name]

    assert_refused(scene, ask(scene), status, code)


def test_a_route_with_a_key_lets_nobody_in_without_a_fit_one(scene: Scene) -> None:
    """B45."""
    empty = EMPTY_KEY.get(scene.front.name, 401)
    for route in KEYED:
        told = {key: asked(scene, route, key).status for key in (None, "", "junk")}
        assert told == {None: 401, "": empty, "junk": 403}, route.name


def test_a_role_gets_through_just_where_the_table_says(scene: Scene) -> None:
    """B45: the request that gets through is refused, or harmless.

    At a gateway it is the authorizer that keeps others out: functions name the request.
    """
    for route in KEYED:
        for key, role in ROLES.items():
            answer = asked(scene, route, key)
            assert (answer.status != 403) == (role in route.roles), (route.name, key, answer)
            stopped_before = scene.front.gateway and answer.status == 403
            assert ("x-request-id" in answer.headers) != stopped_before, (route.name, key, answer)


def asked(scene: Scene, route: Route, key: str | None) -> Answer:
    """Nothing that could change a job: an id of nobody, a body that no route takes."""
    body: Any = {"nope": 1} if route.method == "POST" else None
    return scene.call(route.method, route.path.replace("{id}", "9007199254740991"), key, body)
