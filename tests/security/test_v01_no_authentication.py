"""V-01: whoever reaches the port could enqueue, claim and finish anything; now a live key of the
right role comes first, on every route."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from queuelog_core.http.app import create_app
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.http.routes import ROUTES, Route
from queuelog_core.identity import Role, generate_key
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem

GUARDED = [route for route in ROUTES if route.name not in ("health", "openapi")]
EXPIRY_SECONDS = 60
BODIES: dict[str, Any] = {
    "enqueue": {"type": "email"},
    "batch": {"jobs": [{"type": "email"}]},
    "redrive_many": {"all": True},
    "complete": {"attempt": 1},
}
ADMIN_SAID = '{"name":"root","role":"admin","priority_max":"critical","types":null,"key_id":"x"}'
every_route = pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.name)


class Keys:
    """Keys of one registry: a live one, and those that nobody may use."""

    def __init__(self, registry: FileRegistry, clock: FakeClock) -> None:
        def create(name: str, expires_at: int | None = None) -> str:
            return registry.create(
                name, Role.ADMIN, priority_max=Priority.CRITICAL, expires_at=expires_at
            )[1]

        self.live = create("root")
        self.revoked = create("gone")
        self.expired = create("late", clock() + EXPIRY_SECONDS * 1000)
        registry.revoke(registry.records()[1].id)
        clock.advance(EXPIRY_SECONDS)

    def unfit(self, kind: str) -> str:
        wrong = "0" if self.live[-1] != "0" else "1"
        return {
            "junk": "x",
            "a name": "root",
            "a role": "admin",
            "wildcard": "*",
            "null": "null",
            "prefix alone": "ql_admin_",
            "wrong checksum": self.live[:-1] + wrong,
            "without checksum": self.live.rpartition("_")[0],
            "well formed but unknown": generate_key(Role.ADMIN),
            "another role in front": self.live.replace("ql_admin", "ql_worker"),
            "another case": self.live.swapcase(),
            "twice": f"{self.live},{self.live}",
            "with a scheme": f"Bearer {self.live}",
            "revoked": self.revoked,
            "expired": self.expired,
        }[kind]


UNFIT = [
    *("junk", "a name", "a role", "wildcard", "null", "prefix alone", "wrong checksum", "twice"),
    *("without checksum", "well formed but unknown", "another role in front", "another case"),
    *("with a scheme", "revoked", "expired"),
]
IDENTITY_HEADERS = [
    *("X-Worker-Id", "X-Forwarded-User", "X-Remote-User", "Remote-User", "X-Authenticated-User"),
    *("X-User", "X-Role", "From", "serverless.authorizer", "X-Amzn-Request-Context"),
    *("X-Identity", "X-Api-Key-Id", "Authorization", "X-Original-X-Api-Key", "api_key"),
]


@pytest.fixture
def registry(tmp_path: Path, clock: FakeClock) -> FileRegistry:
    return FileRegistry(tmp_path / "keys.json", clock)


@pytest.fixture
def keys(registry: FileRegistry, clock: FakeClock) -> Keys:
    return Keys(registry, clock)


@pytest.fixture
def front(api: Api, registry: FileRegistry) -> FlaskClient:
    """The application as `queuelog serve` has it; job 1 runs under root, 2 waits, 3 is dead."""
    api.enqueue()
    api.claim("admin")
    api.enqueue()
    api.call("POST", f"/jobs/{api.enqueue()['id']}/cancel", "producer")
    return create_app(api.queue, identify_by_key(registry)).test_client()


def send(front: FlaskClient, route: Route, headers: Mapping[str, str]) -> TestResponse:
    """A request that does what the route is for, if the caller is let in."""
    path = route.path.replace("{id}", "3" if route.name == "redrive" else "1")
    body = BODIES.get(route.name, {}) if route.method == "POST" else None
    return front.open(path, method=route.method, headers=dict(headers), json=body)


def all_jobs(api: Api) -> bytes:
    raw: bytes = api.call("GET", "/jobs").data
    return raw


def test_only_health_and_the_contract_are_open(front: FlaskClient) -> None:
    statuses = {route.name: send(front, route, {}).status_code for route in ROUTES}

    assert {name for name, status in statuses.items() if status != 401} == {"health", "openapi"}


@every_route
def test_with_a_live_key_each_of_these_requests_does_its_work(
    front: FlaskClient, keys: Keys, route: Route
) -> None:
    reply = send(front, route, {"X-API-Key": keys.live})

    assert 200 <= reply.status_code < 300


@every_route
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": ""}], ids=["none", "empty"])
def test_a_request_without_a_key_is_refused_and_changes_nothing(
    api: Api, front: FlaskClient, route: Route, headers: dict[str, str]
) -> None:
    before = all_jobs(api)

    reply = send(front, route, headers)

    assert_problem(reply, 401, "unauthorized")
    assert all_jobs(api) == before


@every_route
@pytest.mark.parametrize("kind", UNFIT)
def test_an_unfit_key_is_refused_and_changes_nothing(
    api: Api, front: FlaskClient, keys: Keys, route: Route, kind: str
) -> None:
    before = all_jobs(api)

    reply = send(front, route, {"X-API-Key": keys.unfit(kind)})

    assert_problem(reply, 403, "forbidden")
    assert all_jobs(api) == before


@pytest.mark.parametrize("name", IDENTITY_HEADERS)
@pytest.mark.parametrize("value", ["root", "admin", ADMIN_SAID, "live key"])
def test_a_header_that_names_an_identity_is_no_key(
    api: Api, front: FlaskClient, keys: Keys, name: str, value: str
) -> None:
    before = all_jobs(api)
    (claim,) = [route for route in GUARDED if route.name == "claim"]

    reply = send(front, claim, {name: keys.live if value == "live key" else value})

    assert_problem(reply, 401, "unauthorized")
    assert all_jobs(api) == before


@pytest.mark.parametrize("name", IDENTITY_HEADERS)
def test_a_header_that_names_an_identity_adds_nothing_to_a_key(
    api: Api, front: FlaskClient, registry: FileRegistry, name: str
) -> None:
    secret = registry.create("shop", Role.PRODUCER, priority_max=Priority.LOW)[1]
    before = all_jobs(api)

    claimed = front.post("/jobs/claim", json={}, headers={"X-API-Key": secret, name: ADMIN_SAID})
    told = front.get("/whoami", headers={"X-API-Key": secret, name: ADMIN_SAID})

    assert_problem(claimed, 403, "forbidden")
    assert (told.json or {})["name"] == "shop"
    assert all_jobs(api) == before


@pytest.mark.parametrize("place", ["X-API-Key={}", "api_key={}", "key={}", "access_token={}"])
def test_a_key_in_the_address_is_no_key(
    api: Api, front: FlaskClient, keys: Keys, place: str
) -> None:
    before = all_jobs(api)

    reply = front.post("/jobs/claim?" + place.format(keys.live), json={})

    assert_problem(reply, 401, "unauthorized")
    assert all_jobs(api) == before


def test_a_key_ends_for_the_very_next_request_once_it_is_revoked(
    front: FlaskClient, keys: Keys, registry: FileRegistry
) -> None:
    headers = {"X-API-Key": keys.live}
    was_let_in = front.get("/whoami", headers=headers).status_code

    registry.revoke(registry.records()[0].id)

    assert was_let_in == 200
    assert_problem(front.get("/whoami", headers=headers), 403, "forbidden")


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "x"}], ids=["none", "junk"])
def test_a_caller_without_a_live_key_cannot_tell_jobs_that_exist_from_others(
    front: FlaskClient, headers: dict[str, str]
) -> None:
    headers = {**headers, "X-Request-Id": "same"}

    known, unknown = (front.get(f"/jobs/{number}", headers=headers) for number in (1, 999))

    assert known.data == unknown.data
    assert known.headers == unknown.headers


@pytest.mark.parametrize(
    ("key", "path"),
    [
        *[("producer", path) for path in ("/jobs/claim", "/jobs/1/complete", "/jobs/1/fail")],
        *[("worker", "/jobs"), ("pdf-worker", "/jobs")],
    ],
)
def test_a_key_of_the_other_role_is_refused_and_changes_nothing(
    api: Api, key: str, path: str
) -> None:
    api.enqueue()
    api.claim()
    api.enqueue()
    before = all_jobs(api)

    reply = api.call("POST", path, key, {"type": "email"} if path == "/jobs" else {})

    assert_problem(reply, 403, "forbidden")
    assert all_jobs(api) == before
