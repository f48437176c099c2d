"""What the OpenAPI document says of requests and answers is what the application does."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from werkzeug.test import TestResponse

from queuelog_core.errors import StoreUnavailable
from queuelog_core.http.app import create_app
from queuelog_core.http.openapi import openapi_document
from queuelog_core.http.routes import ROUTES, Route
from queuelog_core.identity import Identity, Role
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import Api, failing, json_of

DOCUMENT: Any = openapi_document()
BY_NAME = {route.name: route for route in ROUTES}
OVERSIZED = b" " * (1024 * 1024 + 1)
PROVOKED: dict[int, dict[str, Any]] = {
    400: {"raw": b"{"},
    401: {"key": None},
    403: {"key": "stranger"},
    404: {"job_id": "0"},
    409: {"job_id": "1"},
    413: {"raw": OVERSIZED},
    415: {"raw": b"{}", "content_type": "text/plain"},
    422: {"query": "?nope=1", "body": {"nope": 1}},
}
STORE_METHODS = tuple(name for name in vars(Store) if not name.startswith("_"))
NEEDED: dict[str, Any] = {
    "enqueue": {"type": "email"},
    "batch": {"jobs": [{"type": "email"}]},
    "redrive_many": {"all": True},
}
"""Bodies of the routes that do not take an empty one."""
BEFORE: dict[str, Any] = {
    "complete": lambda api: api.claim(),
    "fail": lambda api: api.claim(),
    "heartbeat": lambda api: api.claim(),
    "release": lambda api: api.claim(),
    "redrive": lambda api: api.call("POST", "/jobs/1/cancel"),
}
"""What brings the first job into a state that allows the verb."""
REQUESTS = [
    pytest.param(route.name, example["value"], id=f"{route.name}-{title}")
    for route in ROUTES
    if route.body is not None
    for title, example in DOCUMENT["paths"][route.path]["post"]["requestBody"]["content"][
        "application/json"
    ]["examples"].items()
]


def operation(route: Route) -> Any:
    return DOCUMENT["paths"][route.path][route.method.lower()]


def answers(route: Route) -> dict[str, Any]:
    """What a route may answer by status; refusals are told once for all routes."""
    shared = DOCUMENT["components"]["responses"]
    return {
        status: shared[reply["$ref"].split("/")[-1]] if "$ref" in reply else reply
        for status, reply in operation(route)["responses"].items()
    }


def check(schema: Any, value: Any) -> None:
    """Raises unless `value` fits; references lead into this document."""
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


def examples() -> list[Any]:
    """Every example in the document beside its schema."""
    found = []
    for route in ROUTES:
        contents = [operation(route).get("requestBody", {}).get("content", {})]
        contents += [reply.get("content", {}) for reply in answers(route).values()]
        for media in (media for content in contents for media in content.values()):
            values = [example["value"] for example in media.get("examples", {}).values()]
            values += [media["example"]] if "example" in media else []
            assert values, route.name
            found += [pytest.param(media["schema"], value, id=route.name) for value in values]
        for parameter in operation(route)["parameters"]:
            if "example" in parameter:
                place = f"{route.name}-{parameter['name']}"
                found.append(pytest.param(parameter["schema"], parameter["example"], id=place))
    return found


@pytest.mark.parametrize(("schema", "value"), examples())
def test_every_example_fits_its_schema(schema: Any, value: Any) -> None:
    check(schema, value)


@pytest.mark.parametrize("status", PROVOKED)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_refusal_is_documented_just_where_it_can_happen(api: Api, name: str, status: int) -> None:
    """Job 1 is completed, so that no verb is allowed on it."""
    route = BY_NAME[name]
    api.enqueue()
    api.report("complete", api.claim())
    asked = {"key": "admin", "job_id": "1", "query": "", **PROVOKED[status]}
    path = route.path.replace("{id}", asked.pop("job_id")) + asked.pop("query")

    reply = api.call(route.method, path, **asked)

    documented = answers(route)
    assert (reply.status_code == status) == (str(status) in documented)
    if reply.status_code == status:
        media = documented[str(status)]["content"][reply.mimetype]
        check(media["schema"], json_of(reply))


@pytest.mark.parametrize(("name", "body"), REQUESTS)
def test_every_example_of_a_request_is_accepted(api: Api, name: str, body: Any) -> None:
    route = BY_NAME[name]
    key = "worker" if Role.WORKER in route.roles else "admin"
    api.enqueue()
    BEFORE.get(name, lambda _: None)(api)

    reply = api.call("POST", route.path.replace("{id}", "1"), key, body)

    assert reply.status_code == route.replies[0]


def succeed(api: Api) -> list[tuple[str, TestResponse]]:
    """Every kind of success, with the route that answers so."""
    email = {"type": "email", "payload": {"a": 1}, "idempotency_key": "k"}
    return [
        ("claim", api.call("POST", "/jobs/claim", "worker", {})),
        ("enqueue", api.call("POST", "/jobs", "producer", email)),
        ("enqueue", api.call("POST", "/jobs", "producer", email | {"payload": {}})),
        ("claim", api.call("POST", "/jobs/claim", "worker", {})),
        ("fail", api.call("POST", "/jobs/1/fail", "worker", {"attempt": 1, "error": "boom"})),
        ("fail", api.call("POST", "/jobs/1/fail", "worker", {"attempt": 1, "error": "boom"})),
        ("claim", api.call("POST", "/jobs/claim", "admin", {})),
        ("complete", api.call("POST", "/jobs/1/complete", "admin", {"result": [1]})),
        ("get", api.call("GET", "/jobs/1", "admin")),
        *succeed_further(api),
        ("list_jobs", api.call("GET", "/jobs", "admin")),
        ("stats", api.call("GET", "/stats", "admin")),
        ("whoami", api.call("GET", "/whoami", "pdf-worker")),
        ("health", api.call("GET", "/health", None)),
        ("openapi", api.call("GET", "/openapi.json", None)),
    ]


def succeed_further(api: Api) -> list[tuple[str, TestResponse]]:
    """The same for the further routes."""
    two = {"jobs": [{"type": "pdf"}, {"type": "email"}, {"type": "nope"}]}
    batch = api.call("POST", "/jobs/batch", "producer", two)
    first, second = (f"/jobs/{item['id']}" for item in json_of(batch)["results"][:2])
    return [
        ("batch", batch),
        ("claim", api.call("POST", "/jobs/claim", "worker", {"limit": 2, "types": ["pdf"]})),
        ("attempts", api.call("GET", f"{first}/attempts", "worker")),
        ("heartbeat", api.call("POST", f"{first}/heartbeat", "worker", {"attempt": 1})),
        ("cancel", api.call("POST", f"{first}/cancel", "producer")),
        ("cancel", api.call("POST", f"{first}/cancel", "producer")),
        ("release", api.call("POST", f"{first}/release", "worker", {"attempt": 1})),
        ("release", api.call("POST", f"{first}/release", "worker", {"attempt": 1})),
        ("cancel", api.call("POST", f"{second}/cancel", "producer")),
        ("redrive", api.call("POST", f"{second}/redrive", "admin")),
        ("redrive", api.call("POST", f"{second}/redrive", "admin")),
        ("redrive_many", api.call("POST", "/jobs/redrive", "admin", {"all": True})),
    ]


def test_every_success_is_documented(api: Api) -> None:
    replies = succeed(api)

    for name, reply in replies:
        documented = answers(BY_NAME[name])[str(reply.status_code)]
        sent = {header for header, _ in reply.headers}
        assert sent & DOCUMENT["components"]["headers"].keys() <= documented["headers"].keys()
        if reply.status_code == 204:
            assert "content" not in documented
        else:
            check(documented["content"][reply.mimetype]["schema"], json_of(reply))


def test_every_documented_success_was_seen(api: Api) -> None:
    seen = {(name, reply.status_code) for name, reply in succeed(api)}

    assert seen == {(route.name, status) for route in ROUTES for status in route.replies}


def check_failure(name: str, status: int, reply: TestResponse) -> None:
    assert reply.status_code == status
    documented = answers(BY_NAME[name])[str(status)]
    check(documented["content"][reply.mimetype]["schema"], json_of(reply))
    assert all(header in reply.headers for header in documented["headers"])


@pytest.mark.parametrize(
    ("error", "status"), [(StoreUnavailable("x"), 503), (RuntimeError("x"), 500)]
)
@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - {"whoami", "openapi"}))
def test_a_failure_of_the_store_is_documented(
    store: Store, clock: FakeClock, name: str, error: Exception, status: int
) -> None:
    route = BY_NAME[name]
    api = Api(failing(store, error, *STORE_METHODS, "check_writable"), clock)
    reply = api.call(route.method, route.path.replace("{id}", "1"), "admin", NEEDED.get(name))

    check_failure(name, status, reply)


@pytest.mark.parametrize(
    ("error", "status"), [(StoreUnavailable("x"), 503), (RuntimeError("x"), 500)]
)
@pytest.mark.parametrize("name", [route.name for route in ROUTES if route.roles])
def test_a_failure_of_the_key_registry_is_documented(
    api: Api, name: str, error: Exception, status: int
) -> None:
    route = BY_NAME[name]

    def identify(_: dict[str, Any]) -> Identity:
        raise error

    client = create_app(api.queue, identify).test_client()

    reply = client.open(route.path.replace("{id}", "1"), method=route.method)

    check_failure(name, status, reply)
