"""The authorizers: a key of the right role passes with its identity, everything else is denied."""

import json
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.http.authorizer import authorize
from queuelog_core.http.lambda_adapter import identify
from queuelog_core.http.routes import ROUTES
from queuelog_core.identity import AUTHORIZERS, Role, generate_key
from queuelog_core.job import Priority
from queuelog_core.key_registry import KeyRegistry, open_registry
from queuelog_core.key_registry.file import FileRegistry
from tests.functions.events import SCHEDULED, authorizer_event, http_event
from tests.support.factories import NOON, FakeClock

DENIED = {"isAuthorized": False}
PASSES = {
    "reader": {"producer", "worker", "admin"},
    "producer": {"producer", "admin"},
    "worker": {"worker", "admin"},
    "admin": {"admin"},
}
each_authorizer = pytest.mark.parametrize("name", PASSES)


@pytest.fixture
def registry(tmp_path: Path, clock: FakeClock) -> FileRegistry:
    return FileRegistry(tmp_path / "keys.json", clock)


@pytest.fixture
def admin_key(registry: FileRegistry) -> str:
    """What passes every authorizer, wherever a key is read."""
    return key_of(registry, Role.ADMIN)


def key_of(registry: KeyRegistry, role: Role, **powers: Any) -> str:
    return registry.create(role.value, role, **{"priority_max": Priority.LOW, **powers})[1]


def answer(name: str, registry: KeyRegistry, event: Any) -> Any:
    """What an authorizer says, as the gateway can read it."""
    return json.loads(json.dumps(authorize(name, lambda: registry, event, None)))


@each_authorizer
@pytest.mark.parametrize("role", Role)
def test_an_authorizer_lets_its_roles_pass_and_no_other(
    registry: FileRegistry, name: str, role: Role
) -> None:
    said = answer(name, registry, authorizer_event(key_of(registry, role)))

    assert said["isAuthorized"] is (role in PASSES[name])
    assert said == DENIED or said.keys() == {"isAuthorized", "context"}


def test_every_route_with_roles_has_the_authorizer_of_just_these_roles() -> None:
    assert {name: {*map(str, roles)} for name, roles in AUTHORIZERS.items()} == PASSES
    for route in ROUTES:
        passes = PASSES[route.authorizer] if route.authorizer else set()
        assert passes == {role.value for role in route.roles}, route.name


@pytest.mark.parametrize("types", [None, frozenset({"pdf", "email"}), frozenset()])
@pytest.mark.parametrize("priority_max", Priority)
def test_a_function_reads_from_the_context_the_identity_behind_the_key(
    registry: FileRegistry, types: frozenset[str] | None, priority_max: Priority
) -> None:
    key = key_of(registry, Role.WORKER, types=types, priority_max=priority_max)

    context = answer("worker", registry, authorizer_event(key))["context"]

    assert context.keys() == {"identity"}
    assert isinstance(context["identity"], str)
    (record,) = registry.records()
    assert identify({"serverless.authorizer": {"lambda": context}}) == record.identity()


def test_the_context_holds_neither_the_key_nor_its_digest(registry: FileRegistry) -> None:
    key = key_of(registry, Role.ADMIN)

    said = json.dumps(answer("admin", registry, authorizer_event(key)))

    (record,) = registry.records()
    assert record.id in said
    assert not [secret for secret in (*key.split("_")[2:], record.digest) if secret in said]


def unfit(registry: FileRegistry, clock: FakeClock) -> dict[str, str]:
    """Keys that nobody may use, as they differ from a live one."""
    live = key_of(registry, Role.ADMIN)
    revoked = registry.create("gone", Role.ADMIN, priority_max=Priority.LOW)
    registry.revoke(revoked[0].id)
    expired = registry.create("late", Role.ADMIN, priority_max=Priority.LOW, expires_at=NOON + 1)
    clock.advance(1)
    return {
        "empty": "",
        "a space": " ",
        "no key": "admin",
        "cut": live[:-1],
        "with a space": f"{live} ",
        "with a line break": f"{live}\n",
        "another role": live.replace("admin", "worker"),
        "twice": f"{live},{live}",
        "with a scheme": f"Bearer {live}",
        "long": "x" * 100_000,
        "half a surrogate pair": f"{live}\ud800",
        "other digits": live.replace("_", "＿"),
        "unknown": generate_key(Role.ADMIN),
        "revoked": revoked[1],
        "expired": expired[1],
    }


@each_authorizer
def test_an_unfit_key_is_denied_and_nothing_tells_why(
    registry: FileRegistry, clock: FakeClock, name: str
) -> None:
    keys = unfit(registry, clock)

    said = {kind: answer(name, registry, authorizer_event(key)) for kind, key in keys.items()}

    assert said == dict.fromkeys(keys, DENIED)


NO_SOURCES: list[Any] = [
    *(None, [], {}, "x", 7, [None], [7], [[]], [{}], [True], [b"x"], [["x"]], {"0": "x"})
]
NO_EVENTS: list[Any] = [
    *(None, [], {}, "x", 0, 1.5, True, [None], SCHEDULED),
    *({"identitySource": source} for source in NO_SOURCES),
]


@each_authorizer
@pytest.mark.parametrize("event", NO_EVENTS, ids=str)
def test_an_event_without_a_key_is_denied_and_never_raises(
    registry: FileRegistry, name: str, event: Any
) -> None:
    key_of(registry, Role.ADMIN)

    assert authorize(name, lambda: registry, event, None) == DENIED


SOURCES: list[Any] = [None, [], [""], "", 0, [None, "KEY"], ["", "KEY"], "KEY"]


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_key_comes_from_the_identity_source_and_from_nowhere_else(
    registry: FileRegistry, admin_key: str, source: Any
) -> None:
    """It is where the gateway looked when it gave the answer a place in its cache."""
    event = authorizer_event(admin_key, rawQueryString=f"x-api-key={admin_key}")
    event["identitySource"] = json.loads(json.dumps(source).replace("KEY", admin_key))
    event |= {"authorizationToken": admin_key, "cookies": [f"x-api-key={admin_key}"]}

    assert answer("reader", registry, event) == DENIED


def test_the_answer_depends_on_the_key_alone(registry: FileRegistry, admin_key: str) -> None:
    """The gateway gives it to every route behind the authorizer."""
    asked = [("POST", "/jobs"), ("POST", "/jobs/7/redrive"), ("GET", "/whoami"), ("PUT", "/%2e")]

    said = [answer("admin", registry, authorizer_event(admin_key, *route)) for route in asked]
    said.append(answer("admin", registry, {"identitySource": [admin_key]}))

    assert all(each == said[0] for each in said)
    assert said[0]["isAuthorized"] is True


@each_authorizer
def test_a_key_is_denied_from_the_instant_it_is_revoked_or_expires(
    registry: FileRegistry, clock: FakeClock, name: str
) -> None:
    brief = registry.create("brief", Role.ADMIN, priority_max=Priority.LOW, expires_at=NOON + 60)
    ended = registry.create("ended", Role.ADMIN, priority_max=Priority.LOW)
    events = [authorizer_event(key) for _, key in (brief, ended)]
    before = [answer(name, registry, event)["isAuthorized"] for event in events]

    registry.revoke(ended[0].id)
    clock.advance(0.06)

    assert before == [True, True]
    assert [answer(name, registry, event) for event in events] == [DENIED, DENIED]


@each_authorizer
@pytest.mark.parametrize("text", ["hunter2", '{"version": 1, "keys": [', ""])
def test_keys_that_cannot_be_read_raise_for_a_denial_would_be_kept(
    tmp_path: Path, clock: FakeClock, name: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text, "utf-8")
    registry = FileRegistry(path, clock)
    key = generate_key(Role.ADMIN)

    with pytest.raises(StoreUnavailable):
        authorize(name, lambda: registry, authorizer_event(key), None)

    assert "authorizer-failed" in [record.getMessage() for record in caplog.records]
    logged = str([vars(record) for record in caplog.records])
    assert not [secret for secret in (key, "hunter2") if secret in logged]


def test_a_registry_that_cannot_be_opened_raises_and_is_logged(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    def open_nothing() -> KeyRegistry:
        return open_registry("nonsense:keys", clock)

    with pytest.raises(ConfigError, match="QUEUELOG_KEYS"):
        authorize("reader", open_nothing, authorizer_event(generate_key(Role.ADMIN)), None)

    (record,) = caplog.records
    assert vars(record)["fields"]["authorizer"] == "reader"


def test_who_sends_no_key_is_denied_also_while_the_keys_cannot_be_read(clock: FakeClock) -> None:
    def open_nothing() -> KeyRegistry:
        return open_registry("nonsense:keys", clock)

    assert authorize("reader", open_nothing, authorizer_event(""), None) == DENIED


def test_an_api_event_is_no_authorizer_event(registry: FileRegistry, admin_key: str) -> None:
    event = http_event("GET", "/jobs")
    event["headers"]["x-api-key"] = admin_key

    assert answer("reader", registry, event) == DENIED
