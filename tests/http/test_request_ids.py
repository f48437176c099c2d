"""X-Request-Id: the caller's where it can be, and never a secret, because it is logged."""

import pytest

from queuelog_core.identity import Role, generate_key
from tests.support.http import Api


@pytest.mark.parametrize("given", ["a", "order-7.retry_2", "x" * 64])
def test_a_well_formed_id_is_taken_over(api: Api, given: str) -> None:
    reply = api.call("GET", "/jobs", headers={"X-Request-Id": given})

    assert reply.headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "é", "a/b"])
def test_any_other_id_is_replaced(api: Api, given: str) -> None:
    reply = api.call("GET", "/jobs", headers={"X-Request-Id": given})

    assert reply.headers["X-Request-Id"] not in ("", given)
    assert len(reply.headers["X-Request-Id"]) == 16


def test_a_key_is_never_taken_for_an_id(api: Api) -> None:
    key = generate_key(Role.ADMIN)

    reply = api.call("GET", "/jobs", headers={"X-Request-Id": key})

    assert reply.headers["X-Request-Id"] != key
