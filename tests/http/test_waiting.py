"""A request that has waited too long for one of the server's threads is not let in any more."""

import pytest

from queuelog_core.http.app import WAIT_SECONDS_MAX, WAITED_SECONDS
from tests.support.http import Api, assert_problem


@pytest.mark.parametrize("path", ["/jobs", "/jobs/claim", "/jobs/batch"])
def test_what_waited_beyond_the_limit_is_told_to_come_again(api: Api, path: str) -> None:
    reply = api.client.post(
        path,
        json={"type": "email"},
        headers={"X-API-Key": "admin"},
        environ_overrides={WAITED_SECONDS: WAIT_SECONDS_MAX + 0.1},
    )

    assert_problem(reply, 503, "store-busy")
    assert reply.headers["Retry-After"] == "1"
    assert api.claim() is None


def test_what_waited_up_to_the_limit_is_let_in(api: Api) -> None:
    reply = api.client.post(
        "/jobs",
        json={"type": "email"},
        headers={"X-API-Key": "admin"},
        environ_overrides={WAITED_SECONDS: WAIT_SECONDS_MAX},
    )

    assert reply.status_code == 201


@pytest.mark.parametrize(("path", "status"), [("/health", 200), ("/nowhere", 404)])
def test_what_needs_no_key_is_answered_however_long_it_waited(
    api: Api, path: str, status: int
) -> None:
    waited = {WAITED_SECONDS: WAIT_SECONDS_MAX + 60}

    assert api.client.get(path, environ_overrides=waited).status_code == status


def test_no_header_makes_a_request_wait(api: Api) -> None:
    reply = api.call("POST", "/jobs", body={"type": "email"}, headers={WAITED_SECONDS: "60"})

    assert reply.status_code == 201
