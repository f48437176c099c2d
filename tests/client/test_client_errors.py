"""What is raised for an answer that is no success: one class a code, by status without a code."""

from collections.abc import Iterator
from typing import Any

import pytest

from queuelog_core import client, errors
from queuelog_core.client import (
    ClientError,
    Conflict,
    Refused,
    Response,
    ServerError,
    Unreachable,
)
from queuelog_core.client.errors import error_for
from tests.client.scripted import Scripted, answer, scripted_client


def below(base: type[Any]) -> Iterator[type[Any]]:
    found: type[Any]
    for found in base.__subclasses__():
        yield found
        yield from below(found)


CODES = {found.code: found for found in below(errors.QueuelogError) if "code" in vars(found)}
"""The server's classes by their codes; a LateReport travels as what it derives from."""


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_of_the_server_has_a_class_of_the_same_name(code: str) -> None:
    served = CODES[code]
    error = error_for(served.status, {"code": code, "status": served.status})

    expected: Any = getattr(client, served.__name__)
    assert expected.code == code
    assert type(error) is expected
    assert isinstance(error, Unreachable if served.status >= 500 else Refused)
    for base in served.__mro__:
        if base in CODES.values():
            assert isinstance(error, getattr(client, base.__name__)), "the trees have one shape"


def test_no_two_classes_have_one_code() -> None:
    codes = [vars(found)["code"] for found in {*below(ClientError)} if vars(found).get("code")]

    assert len(codes) == len(set(codes))
    assert set(codes) == {*CODES, "rate-limited"}


def test_a_reused_key_is_caught_as_a_failed_validation() -> None:
    assert issubclass(client.IdempotencyKeyReused, client.ValidationFailed)


def test_a_server_that_failed_is_a_server_error() -> None:
    assert type(error_for(500, {"code": "internal-error"})) is ServerError


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (301, "Refused"),
        (308, "Refused"),
        (400, "InvalidJson"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (409, "Conflict"),
        (413, "PayloadTooLarge"),
        (415, "UnsupportedMediaType"),
        (418, "Refused"),
        (422, "ValidationFailed"),
        (429, "RateLimited"),
        (500, "ServerError"),
        (502, "ServerError"),
        (503, "StoreUnavailable"),
        (504, "ServerError"),
    ],
)
@pytest.mark.parametrize("problem", [None, {}, {"message": "Forbidden"}, {"code": 7}])
def test_the_words_of_a_gateway_are_read_by_their_status(
    status: int, name: str, problem: dict[str, object] | None
) -> None:
    assert type(error_for(status, problem)) is getattr(client, name)


def test_a_code_that_came_later_is_read_by_its_status_and_shown() -> None:
    error = error_for(409, {"code": "paused", "detail": "The type is paused."})

    assert type(error) is Conflict
    assert str(error) == "409 paused; The type is paused."


def test_an_error_tells_what_the_problem_document_says() -> None:
    problem = {
        "code": "validation-failed",
        "detail": "See errors.",
        "request_id": "r-1",
        "errors": [{"field": "type", "code": "missing", "message": "is needed"}],
    }

    error = error_for(422, problem)

    assert isinstance(error, client.ValidationFailed)
    assert (error.status, error.detail, error.request_id) == (422, "See errors.", "r-1")
    assert (error.errors, error.problem) == (problem["errors"], problem)
    assert str(error) == "422 validation-failed; See errors.; type: is needed"


def test_an_error_without_a_problem_document_tells_nothing_but_its_status() -> None:
    error = error_for(418, None)

    assert isinstance(error, Refused)
    assert (error.detail, error.request_id, error.errors, error.problem) == ("", None, [], {})
    assert str(error) == "418 without a problem document"


def test_an_answer_of_somebody_elses_is_named_by_its_header() -> None:
    assert error_named(answer(502, None, x_request_id="gateway-1")) == "gateway-1"
    assert error_named(answer(200, [], x_request_id="gateway-2")) == "gateway-2"
    assert error_named(answer(404, {"request_id": "r-1"}, x_request_id="gateway-3")) == "r-1"
    assert error_named(answer(404, {})) is None


def error_named(response: Response) -> str | None:
    """The request id of the error that an answer ends in."""
    with pytest.raises(ClientError) as raised:
        scripted_client(Scripted(response)).stats()
    named: str | None = getattr(raised.value, "request_id")  # noqa: B009
    return named


@pytest.mark.parametrize("listed", ["no", 7, {"type": "missing"}, ["no", None], None])
def test_errors_that_are_none_of_ours_are_left_out(listed: object) -> None:
    error = error_for(422, {"errors": listed})

    assert isinstance(error, client.ValidationFailed)
    assert error.errors == []


def test_retry_after_is_told_by_errors_that_may_pass_alone() -> None:
    busy = error_for(503, {"code": "store-busy"}, 3.0)

    assert isinstance(busy, client.StoreBusy)
    assert busy.retry_after_seconds == 3
    assert not hasattr(error_for(409, None, 3.0), "retry_after_seconds")


def test_every_class_is_offered_by_the_package() -> None:
    public = {found.__name__ for found in below(ClientError) if found.__name__[0] != "_"}

    assert public < set(client.__all__)
