"""Keys of the local server: a missing one is 401, every unfit one the same 403."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from queuelog_core.http.app import create_app
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.identity import Role, generate_key
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from tests.support.factories import FakeClock
from tests.support.http import Api, assert_problem, json_of

SAME_REQUEST = {"X-Request-Id": "same"}


@pytest.fixture
def registry(tmp_path: Path, clock: FakeClock) -> FileRegistry:
    return FileRegistry(tmp_path / "keys.json", clock)


@pytest.fixture
def client(api: Api, registry: FileRegistry) -> FlaskClient:
    return create_app(api.queue, identify_by_key(registry)).test_client()


def create(registry: FileRegistry, role: Role = Role.WORKER, expires_at: int | None = None) -> str:
    """The secret of a new key."""
    return registry.create(f"a-{role}", role, priority_max=Priority.MEDIUM, expires_at=expires_at)[
        1
    ]


def call(client: FlaskClient, key: str | None, path: str = "/whoami") -> TestResponse:
    headers = SAME_REQUEST if key is None else {**SAME_REQUEST, "X-API-Key": key}
    return client.get(path, headers=headers)


def test_a_live_key_lets_its_identity_in(client: FlaskClient, registry: FileRegistry) -> None:
    reply = call(client, create(registry))

    assert reply.status_code == 200
    assert json_of(reply)["name"] == "a-worker"


@pytest.mark.parametrize("key", [None, ""])
def test_a_missing_or_empty_key_is_unauthorized(client: FlaskClient, key: str | None) -> None:
    assert_problem(call(client, key), 401, "unauthorized")


def test_every_unfit_key_gets_the_same_answer(
    client: FlaskClient, registry: FileRegistry, clock: FakeClock
) -> None:
    """B47: whatever is in it, byte for byte."""
    expired = create(registry, Role.ADMIN, expires_at=clock() + 1000)
    revoked = create(registry, Role.PRODUCER)
    registry.revoke(registry.records()[1].id)
    live = create(registry)
    clock.advance(1)
    unfit = [
        *("x", "café", "“smart”", "\xff\xfe", "k" * 10_000, "ql_worker_", generate_key(Role.ADMIN)),
        *(expired, revoked, live[:-1], live + "0", live[:-1] + "!", live.swapcase(), f" {live}x"),
        *(live.replace("worker", "admin"), f"{live},{live}", f"Bearer {live}", live.encode().hex()),
    ]

    replies = [call(client, key) for key in unfit]

    assert_problem(replies[0], 403, "forbidden")
    assert {(reply.status_code, reply.data) for reply in replies} == {(403, replies[0].data)}
    assert call(client, live).status_code == 200


def test_a_key_of_the_wrong_role_is_forbidden(client: FlaskClient, registry: FileRegistry) -> None:
    reply = call(client, create(registry, Role.PRODUCER), "/stats")

    assert_problem(reply, 403, "forbidden")


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-API-Key-2", "Api-Key"])
def test_a_key_in_another_place_is_no_key(
    client: FlaskClient, registry: FileRegistry, name: str
) -> None:
    key = create(registry)

    by_header = client.get("/whoami", headers={name: key})
    by_query = client.get(f"/whoami?X-API-Key={key}&api_key={key}")

    assert_problem(by_header, 401, "unauthorized")
    assert_problem(by_query, 401, "unauthorized")


def test_keys_that_cannot_be_read_are_no_reason_to_refuse(
    client: FlaskClient, registry: FileRegistry
) -> None:
    """Clients repeat after a 503; a 403 would stop them for good."""
    registry.path.write_text("{", "utf-8")

    assert_problem(call(client, "x"), 503, "store-unavailable")
