"""What can never work is refused where it is written, by its name."""

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from queuelog_core.worker import Worker


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, None, True, "2"])
def test_a_worker_without_a_thread_is_not_made(concurrency: Any) -> None:
    with pytest.raises(ValueError, match="concurrency"):
        Worker(concurrency=concurrency)


NO_SECONDS = [-1, float("nan"), None, True, "5"]


@pytest.mark.parametrize("seconds", [*NO_SECONDS, 0, float("inf")])
def test_a_worker_that_would_never_pause_or_for_ever_is_not_made(seconds: Any) -> None:
    with pytest.raises(ValueError, match="poll_seconds_max"):
        Worker(poll_seconds_max=seconds)


@pytest.mark.parametrize("seconds", NO_SECONDS)
def test_a_worker_with_a_grace_period_that_is_none_is_not_made(seconds: Any) -> None:
    with pytest.raises(ValueError, match="grace_seconds"):
        Worker(grace_seconds=seconds)


@pytest.mark.parametrize("seconds", [*NO_SECONDS, 0])
def test_a_handler_without_time_is_refused(seconds: Any) -> None:
    with pytest.raises(ValueError, match="timeout"):
        Worker().handler("email", timeout=seconds)


async def coroutine(_: Any) -> None:
    pass


def generator(_: Any) -> Iterator[int]:
    yield 1


async def async_generator(_: Any) -> AsyncIterator[int]:
    yield 1


class Called:
    """An object whose call does nothing yet."""

    async def __call__(self, _: Any) -> None:
        pass

    async def method(self, _: Any) -> None:
        pass


@pytest.mark.parametrize(
    "function",
    [
        coroutine,
        generator,
        async_generator,
        Called(),
        Called().method,
        functools.partial(coroutine),
        functools.partial(functools.partial(Called())),
        None,
        "send",
    ],
    ids=range(9),
)
def test_a_handler_whose_call_would_run_nothing_is_refused(function: Any) -> None:
    worker = Worker()

    with pytest.raises(TypeError, match="plain function"):
        worker.handler("email")(function)

    assert worker.types == []


def test_a_decorator_without_its_type_is_refused() -> None:
    with pytest.raises(TypeError, match="type"):
        Worker().handler(print)  # type: ignore[arg-type]


def test_settings_that_work_are_taken() -> None:
    worker = Worker(concurrency=1, grace_seconds=0, poll_seconds_max=0.05)
    for function in (print, functools.partial(print), str, "{}".format):
        worker.handler("email", timeout=float("inf"))(function)

    assert worker.types == ["email"]
