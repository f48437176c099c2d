"""Ids in paths: from 1 to 2^53 − 1, spelled in one way only."""

from urllib.parse import quote

import pytest

from tests.support.http import Api, assert_problem

ROUTES = [("GET", ""), ("POST", "/complete"), ("POST", "/fail")]
LARGEST = 2**53 - 1
MALFORMED = [
    *("0", "-1", "+1", "01", "1.0", "1e3", "0x1", "abc", "None", "null", "1_0", "1,2", "*", "1;"),
    *("00000000000000001", "9007199254740992", "9999999999999999", "10000000000000000"),
    *("9223372036854775807", "9223372036854775808", "99999999999999999999", "1" * 5000),
]
# The gateway decodes a path before it routes; these arrive with escapes in front of our server.
ESCAPED = ["1 ", " 1", "1\n", "1\0", "١", "１", "²", "1/", "é"]


@pytest.mark.parametrize(("method", "rest"), ROUTES)
@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: text[:20])
def test_a_malformed_id_is_not_found_on_any_route(
    api: Api, text: str, method: str, rest: str
) -> None:
    """B08."""
    reply = api.call(method, f"/jobs/{text}{rest}")

    assert_problem(reply, 404, "not-found")


@pytest.mark.parametrize(("method", "rest"), ROUTES)
@pytest.mark.parametrize("text", ESCAPED)
def test_an_id_with_other_characters_is_not_found(
    api: Api, text: str, method: str, rest: str
) -> None:
    """B08."""
    api.enqueue()
    api.claim("admin")

    reply = api.call(method, f"/jobs/{quote(text, safe='')}{rest}")

    assert_problem(reply, 404, "not-found")
    assert api.get({"id": 1})["status"] == "running"


@pytest.mark.parametrize("text", ESCAPED)
def test_an_id_with_other_characters_is_not_found_behind_a_gateway_that_decodes(
    api: Api, text: str
) -> None:
    """B08."""
    api.enqueue()
    decoded = {"PATH_INFO": f"/jobs/{text}".encode().decode("latin-1"), "REQUEST_URI": ""}

    reply = api.client.get(headers={"X-API-Key": "admin"}, environ_overrides=decoded)

    assert_problem(reply, 404, "not-found")


def test_a_malformed_id_has_the_shape_of_an_unknown_one(api: Api) -> None:
    """B08."""
    malformed = assert_problem(api.call("GET", "/jobs/0"), 404, "not-found")
    unknown = assert_problem(api.call("GET", "/jobs/1"), 404, "not-found")

    told = ("type", "title", "status", "code", "errors")
    assert malformed.keys() == unknown.keys()
    assert [malformed[name] for name in told] == [unknown[name] for name in told]


@pytest.mark.parametrize("job_id", [1, 999, LARGEST])
def test_an_unknown_id_is_not_found_on_a_read(api: Api, job_id: int) -> None:
    reply = api.call("GET", f"/jobs/{job_id}")

    assert_problem(reply, 404, "not-found")


@pytest.mark.parametrize("verb", ["complete", "fail"])
@pytest.mark.parametrize("job_id", [1, 999, LARGEST])
def test_an_unknown_id_is_a_conflict_on_a_report(api: Api, job_id: int, verb: str) -> None:
    reply = api.call("POST", f"/jobs/{job_id}/{verb}", "worker", {})

    assert_problem(reply, 409, "conflict")


@pytest.mark.parametrize(("method", "rest"), ROUTES)
def test_a_well_formed_id_needs_a_key_first(api: Api, method: str, rest: str) -> None:
    reply = api.call(method, f"/jobs/{LARGEST}{rest}", None)

    assert_problem(reply, 401, "unauthorized")


def test_ids_grow_and_are_never_used_again(api: Api) -> None:
    first = api.enqueue()
    api.report("complete", api.claim())
    api.clock.advance(1)
    api.queue.purge(0, 10)

    second = api.enqueue()

    assert (first["id"], second["id"]) == (1, 2)
