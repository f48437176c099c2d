"""Several real processes that start together, and one that dies in the middle of its work."""

import contextlib
import multiprocessing
import os
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerProcess
from typing import Any, TypeVar

from queuelog_core.errors import StoreBusy

# Forked from a process of one thread that has imported what they need and carries nothing of the
# tests: a start costs milliseconds, that of a new interpreter a third of a second.
FRESH = multiprocessing.get_context("forkserver")
FRESH.set_forkserver_preload(["pytest", "boto3", "tests.support.faults_child"])
PROCESSES = 8
T = TypeVar("T")


class Fresh(ForkServerProcess):
    """A process with the environment of its caller, where its origin has one of its own."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._environment = dict(os.environ)

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


def run_all(work: Callable[..., Any], *arguments: object, processes: int = PROCESSES) -> list[Any]:
    """What `work` returns in each of several processes that start together."""
    barrier = FRESH.Barrier(processes)
    results = FRESH.Queue()
    running = [
        Fresh(target=_child, args=(barrier, results, work, arguments)) for _ in range(processes)
    ]
    for process in running:
        process.start()
    answers = [results.get(timeout=120) for _ in running]
    for process in running:
        process.join()
    failures = [failure for failure, _ in answers if failure]
    assert not failures, failures[0]
    return [answer for _, answer in answers]


def _child(barrier: Any, results: Any, work: Callable[..., Any], arguments: Sequence[Any]) -> None:
    try:
        barrier.wait()
        results.put(("", work(*arguments)))
    except Exception:
        results.put((traceback.format_exc(), None))


def until_free(call: Callable[[], T]) -> T:
    """As every client does: a busy store has done nothing, so the call is made again."""
    while True:
        with contextlib.suppress(StoreBusy):
            return call()


def exit_code_of(work: Callable[..., Any], *arguments: object) -> int | None:
    """How a process of its own ends that does this work: 0, or minus the signal."""
    process = Fresh(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode
