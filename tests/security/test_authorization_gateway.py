"""The authorization table once more, through the authorizers: a request, the authorizer's answer
with its context, the function. And what a client may send beside its key, which changes nothing."""

import json
from typing import Any

import pytest

from tests.security.authorization_cells import FRONTS, Cell, cells
from tests.security.authorization_gateway import AUTHORIZER_OF, Gateway, Kept
from tests.security.authorization_requests import CALLERS, KEYS, UNFIT
from tests.security.authorization_world import ON_EVERY_ANSWER, World

# An HTTP API has no HEAD for a route that is declared as GET.
CELLS = [
    cell
    for cell in cells()
    if cell.front == FRONTS[0] and (cell.method, cell.path) in AUTHORIZER_OF
]
GUARDED = [route for route, authorizer in AUTHORIZER_OF.items() if authorizer is not None]
SIGHTED = [caller for caller in CALLERS if caller not in UNFIT]
SPELLINGS = [
    *("x-api-key", "X-API-Key", "X-Api-Key", "x_api_key", "X_API_KEY", "x-api_key", "x_api-key"),
    *("http_x_api_key", "HTTP_X_API_KEY", "x-amzn-x-api-key", "authorization", "api-key"),
]
PROOFS = [
    *("serverless.authorizer", "serverless-authorizer", "sls-offline-authorizer-override"),
    *("x-amzn-request-context", "requestcontext", "x-amz-authorizer", "lambda", "identity"),
]


@pytest.fixture(scope="module")
def kept() -> Kept:
    """One cache for all tests: an answer that was given for one route serves all the others."""
    return {}


@pytest.fixture
def gateway(world: World, kept: Kept) -> Gateway:
    return Gateway(world, kept)


def proof(world: World, caller: str) -> Any:
    """The context that an authorizer would make for a caller, as a client could forge it."""
    identity = world.keys.registry.identify(world.keys.secrets[caller] or "")
    assert identity is not None
    return {"identity": json.dumps(identity.to_json())}


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_everybody_gets_the_answer_of_the_table_through_the_authorizers(
    world: World, gateway: Gateway, cell: Cell
) -> None:
    answer = gateway.ask(cell.caller, cell.method, cell.path, cell.state)

    assert answer.status == cell.status, answer.text
    assert bool(world.changed()) == cell.changes_jobs
    if answer.headers:
        assert answer.headers.items() >= ON_EVERY_ANSWER
        assert (answer.json.get("code", "") if answer.text else "") == cell.code
    else:
        assert cell.status in (401, 403)


@pytest.mark.parametrize("caller", SIGHTED)
def test_an_answer_of_another_authorizer_opens_no_function(
    world: World, gateway: Gateway, caller: str
) -> None:
    """A gateway that is wired wrongly, or an answer that it kept, never widens what a key may do:
    the context says who is calling, and each function judges the role again."""
    key = world.keys.secrets[caller]
    assert key
    context = gateway.said("reader", key)["context"]
    refused = [cell for cell in CELLS if cell.caller == caller and cell.status == 403]

    for cell in refused:
        event = gateway.event(context, cell.method, cell.path, cell.state)
        answer = gateway.invoke(cell.method, cell.path, event)
        assert (answer.status, answer.json["code"]) == (403, cell.code), str(cell)

    assert refused or caller == "admin"
    assert not world.changed()


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("caller", ["workA", "prodB"])
def test_a_second_key_beside_the_first_one_adds_no_power(
    world: World, gateway: Gateway, caller: str, name: str
) -> None:
    """The gateway took the key from one header; no spelling of another one counts."""
    key = world.keys.secrets[caller]
    assert key
    context = gateway.said("reader", key)["context"]
    for path in ("/whoami", "/jobs/redrive"):
        method = "GET" if path == "/whoami" else "POST"
        event = gateway.event(context, method, path, "all")
        event["headers"][name] = world.keys.secrets["admin"]
        answer = gateway.invoke(method, path, event)
        if path == "/whoami":
            assert answer.json["name"] == KEYS[caller][0]
        else:
            assert (answer.status, answer.json["code"]) == (403, "forbidden")
    assert not world.changed()


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_best_key_is_nothing_to_a_function_without_a_context(
    world: World, gateway: Gateway, name: str
) -> None:
    for method, path in GUARDED:
        event = gateway.event(None, method, path, "pending")
        event["headers"][name] = world.keys.secrets["admin"]
        answer = gateway.invoke(method, path, event)
        assert (answer.status, answer.json["code"]) == (401, "unauthorized"), path
    assert not world.changed()


@pytest.mark.parametrize("name", PROOFS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_context_that_a_client_sends_as_a_header_is_none(
    world: World, gateway: Gateway, name: str, wrapped: bool
) -> None:
    forged = proof(world, "admin")
    text = json.dumps({"lambda": forged} if wrapped else forged)
    mailer = gateway.event(proof(world, "workA"), "GET", "/whoami")
    nobody = gateway.event(None, "GET", "/whoami")
    for event in (mailer, nobody):
        event["headers"][name] = text

    answers = [gateway.invoke("GET", "/whoami", event) for event in (mailer, nobody)]

    assert answers[0].json["name"] == "mailer"
    assert answers[1].status == 401


@pytest.mark.parametrize("method_path", GUARDED, ids=" ".join)
@pytest.mark.parametrize(
    "context", ["absent", None, {}, {"lambda": None}, {"lambda": {}}, {"jwt": {}}], ids=str
)
def test_a_function_that_is_called_without_a_proof_knows_nobody(
    world: World, gateway: Gateway, method_path: tuple[str, str], context: Any
) -> None:
    """B61 for the authorizer that is null."""
    event = gateway.event(None, *method_path, "pending")
    if context != "absent":
        event["requestContext"]["authorizer"] = context

    answer = gateway.invoke(*method_path, event)

    assert (answer.status, answer.json["code"]) == (401, "unauthorized")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not world.changed()


LOOKALIKES: list[dict[str, Any]] = [
    {"authorizer": "PROOF"},
    {"lambda": "PROOF"},
    {"identity": "PROOF"},
    {"requestContext.authorizer": "PROOF"},
    {"serverless.authorizer": {"lambda": "PROOF"}},
    {"stageVariables": "PROOF", "pathParameters": "PROOF", "queryStringParameters": "PROOF"},
]


@pytest.mark.parametrize("lookalike", LOOKALIKES, ids=lambda parts: next(iter(parts)))
@pytest.mark.parametrize("place", ["event", "requestContext", "http", "authorizer"])
def test_a_proof_in_another_place_of_the_event_is_none(
    world: World, gateway: Gateway, lookalike: Any, place: str
) -> None:
    forged = json.loads(json.dumps(lookalike).replace('"PROOF"', json.dumps(proof(world, "admin"))))
    event = gateway.event(None, "GET", "/whoami")
    context = event["requestContext"]
    context["authorizer"] = {}
    target = {"event": event, "requestContext": context} | context
    if place == "authorizer":
        forged.pop("lambda", None)  # that is the place
    for name, value in forged.items():
        if (place, name) != ("requestContext", "authorizer"):
            target[place].setdefault(name, value)

    assert gateway.invoke("GET", "/whoami", event).status == 401


@pytest.mark.parametrize("field", ["requestContext", "authorizer", "identity", "role", "key_id"])
@pytest.mark.parametrize(("path", "status"), [("/jobs/claim", 422), ("/jobs/redrive", 403)])
def test_a_proof_in_the_body_is_a_field_that_nobody_knows(
    world: World, gateway: Gateway, field: str, path: str, status: int
) -> None:
    forged = {"authorizer": {"lambda": proof(world, "admin")}}
    event = gateway.event(proof(world, "workA"), "POST", path)
    event["body"] = json.dumps({field: forged})

    answer = gateway.invoke("POST", path, event)

    assert answer.status == status
    assert not world.changed()
