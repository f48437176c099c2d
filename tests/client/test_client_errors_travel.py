"""What is raised for a caller arrives whole in another process, and in a copy."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from queuelog_core import client, worker
from queuelog_core.client import LeaseLost, Refused, ServerError, StoreBusy
from queuelog_core.client.errors import error_for
from queuelog_core.worker import Discard, Retry

PROBLEM = {
    "code": "paused",
    "detail": "Not now.",
    "request_id": "r-1",
    "errors": [{"field": "type", "code": "missing", "message": "is needed"}],
}
WAYS: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(
        lambda error, protocol=protocol: pickle.loads(pickle.dumps(error, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
]


PUBLIC: list[Any] = [getattr(each, name) for each in (client, worker) for name in each.__all__]
EXCEPTIONS = [each for each in PUBLIC if isinstance(each, type) and issubclass(each, Exception)]


class NoAddress(Discard):
    def __init__(self, *, name: str) -> None:
        super().__init__("no_address", f"{name} has none")
        self.name = name


def same(one: BaseException, other: BaseException) -> bool:
    return (type(one), str(one), one.args, vars(one)) == (
        type(other),
        str(other),
        other.args,
        vars(other),
    )


@pytest.mark.parametrize("way", WAYS, ids=range(len(WAYS)))
@pytest.mark.parametrize("kind", EXCEPTIONS, ids=lambda kind: kind.__name__)
def test_every_public_exception_arrives_as_it_was_raised(
    kind: type[Any], way: Callable[[Any], Any]
) -> None:
    error = kind(409, PROBLEM) if issubclass(kind, (Refused, ServerError)) else kind("no_code")
    error.add_note("seen twice")

    assert same(way(error), error)


@pytest.mark.parametrize("way", WAYS, ids=range(len(WAYS)))
@pytest.mark.parametrize(
    "error",
    [
        error_for(503, {"code": StoreBusy.code}, 3.0, "gateway-1"),
        error_for(409, {"code": LeaseLost.code}, 0.0, "gateway-2"),
        Retry("busy", after=30, code="smtp_busy", spend=False),
        Retry(),
        Discard("no_address", "nobody to send to"),
        NoAddress(name="ada"),
    ],
    ids=range(6),
)
def test_what_an_exception_tells_beside_its_words_arrives_too(
    error: BaseException, way: Callable[[Any], Any]
) -> None:
    assert vars(error)
    assert same(way(error), error)
