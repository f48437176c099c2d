"""Who calls a function: what the authorizer proved, and nothing that a client can send."""

import json
from typing import Any

import pytest

from tests.functions.conftest import Invoke
from tests.functions.events import assert_problem, http_event, with_headers
from tests.support.factories import admin, producer, worker

EMAIL = '{"type":"email"}'
PROOF = json.dumps({"lambda": {"identity": json.dumps(admin().to_json())}})


def test_the_identity_is_what_the_authorizer_proved(invoke: Invoke) -> None:
    event = http_event("POST", "/jobs", producer("kiosk"), EMAIL)

    reply = invoke("enqueue", event)

    assert reply["statusCode"] == 201
    assert json.loads(reply["body"])["producer_id"] == "kiosk"


def test_the_powers_of_the_identity_hold(invoke: Invoke) -> None:
    event = http_event("POST", "/jobs", producer(types=frozenset({"pdf"})), EMAIL)

    reply = invoke("enqueue", event)

    assert_problem(reply, 403, "forbidden")


def test_the_role_is_checked_again_behind_the_authorizer(invoke: Invoke) -> None:
    """B46: a cached answer of an authorizer can never widen a key's power."""
    reply = invoke("claim", http_event("POST", "/jobs/claim", producer()))

    assert_problem(reply, 403, "forbidden")


@pytest.mark.parametrize(
    "authorizer",
    [
        None,
        {},
        {"lambda": None},
        {"lambda": {}},
        {"lambda": {"identity": None}},
        {"lambda": {"identity": ""}},
        {"lambda": {"identity": "null"}},
        {"lambda": {"identity": "[]"}},
        {"lambda": {"identity": '{"name":"root"}'}},
        {"lambda": {"identity": json.dumps(admin().to_json() | {"role": "god"})}},
        {"lambda": {"identity": json.dumps(admin().to_json() | {"priority_max": "x"})}},
        {"lambda": {"identity": json.dumps(admin().to_json() | {"name": None})}},
        {"lambda": {"identity": json.dumps(admin().to_json() | {"types": "email"})}},
        {"lambda": {"identity": admin().to_json()}},
        {"lambda": "identity"},
        {"jwt": {"claims": {"sub": "root"}}},
        {"identity": json.dumps(admin().to_json())},
    ],
    ids=str,
)
def test_without_a_proved_identity_nobody_is_known(invoke: Invoke, authorizer: Any) -> None:
    """B61 for the authorizer that is null."""
    event = http_event("POST", "/jobs", None, EMAIL)
    event["requestContext"]["authorizer"] = authorizer

    reply = invoke("enqueue", event)

    assert_problem(reply, 401, "unauthorized")


def test_no_authorizer_at_all_is_nobody(invoke: Invoke) -> None:
    event = http_event("GET", "/whoami")
    del event["requestContext"]["authorizer"]

    assert_problem(invoke("list", event), 401, "unauthorized")


@pytest.mark.parametrize(
    "name",
    [
        *("x_api_key", "x-worker-id", "x_worker_id", "x-identity", "x-role", "identity"),
        *("serverless.authorizer", "serverless-authorizer", "serverless.event", "authorization"),
        *("x-amzn-identity", "x-amzn-oidc-identity", "remote-user", "x-remote-user"),
        *("x-forwarded-user", "x-serverless-authorizer", "requestcontext"),
    ],
)
@pytest.mark.parametrize("identity", [None, worker("mailer")], ids=["nobody", "worker"])
def test_no_header_makes_an_identity(invoke: Invoke, identity: Any, name: str) -> None:
    """B44."""
    event = http_event("GET", "/whoami", identity)
    event["headers"][name] = PROOF

    reply = invoke("list", event)

    if identity is None:
        assert_problem(reply, 401, "unauthorized")
    else:
        assert (json.loads(reply["body"])["name"], reply["statusCode"]) == ("mailer", 200)


@pytest.mark.parametrize("name", ["content_type", "idempotency_key", "x_request_id"])
def test_a_header_spelled_with_underscores_replaces_no_other(invoke: Invoke, name: str) -> None:
    """B44."""
    event = http_event("POST", "/jobs", producer(), EMAIL)
    event = with_headers(event, idempotency__key="good", x__request__id="good")
    event["headers"][name] = "text/evil"

    reply = invoke("enqueue", event)

    assert reply["statusCode"] == 201
    assert json.loads(reply["body"])["idempotency_key"] == "good"
    assert reply["headers"]["X-Request-Id"] == "good"
