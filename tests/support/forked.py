"""Processes made to be killed, forked from one that has all of it imported: a start costs
milliseconds, and a kill is as real as any.

multiprocessing has one such origin in a whole test process, which other tests have warmed for
themselves; this one is our own.
"""

import atexit
import functools
import importlib
import multiprocessing
import os
import select
import signal
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.history_clients import redirect
from tests.support.seeded_bugs import plant_for_good

IMPORTED = ("queuelog_core.cli", "queuelog_core.serve", "boto3")


class Forked:
    """A process that does some work."""

    def __init__(self, run: Callable[..., None], *arguments: object) -> None:
        self._origin = _origin()
        self._origin.send((run, arguments))
        self.pid: int = self._origin.recv()
        self._ends = os.pidfd_open(self.pid)
        self.exitcode: int | None = None

    def kill(self) -> None:
        signal.pidfd_send_signal(self._ends, signal.SIGKILL)

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, so long at most; then `exitcode` tells how."""
        if self.exitcode is None and select.select([self._ends], [], [], seconds)[0]:
            self._origin.send(self.pid)
            self.exitcode = self._origin.recv()
            os.close(self._ends)


@functools.cache
def _origin() -> Any:
    """The line to the process that all are forked from, until this one ends."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_fork_on_request, args=(theirs,))
    process.start()
    theirs.close()

    def end() -> None:
        ours.close()
        process.join()

    atexit.register(end)
    return ours


def _fork_on_request(line: Any) -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    alive = set()
    try:
        while True:
            order = line.recv()
            if isinstance(order, int):
                line.send(os.waitstatus_to_exitcode(os.waitpid(order, 0)[1]))
                alive.discard(order)
                continue
            pid = os.fork()
            if pid == 0:
                line.close()
                _run(*order)
            alive.add(pid)
            line.send(pid)
    except EOFError:
        pass
    finally:
        # Nobody is left who could end them.
        for pid in alive:
            os.kill(pid, signal.SIGKILL)


def _run(run: Callable[..., None], arguments: tuple[object, ...]) -> None:
    code = 1
    try:
        run(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def serve(folder: Path, port: int, settings: Mapping[str, str], bug: str | None) -> None:
    """What a server's process does: `queuelog serve`."""
    os.chdir(folder)
    redirect(folder / f"server-{port}.log")
    for name in [name for name in os.environ if name.startswith("QUEUELOG_")]:
        del os.environ[name]
    os.environ |= {
        "QUEUELOG_JOB_TYPES": str(folder / "types.toml"),
        "QUEUELOG_LOG_LEVEL": "WARNING",
        **settings,
    }
    if bug is not None:
        plant_for_good(bug)
    from queuelog_core.cli import main

    main(["serve", "--port", str(port)])


class Place:
    """The place of a process, through all its lives."""

    def __init__(self, kind: str, name: str, start: Callable[[int], Forked]) -> None:
        self.kind = kind
        self.name = name
        self.number = -1
        self._start = start
        self.process: Forked | None = None

    @property
    def life(self) -> str:
        return self.name if self.kind == "server" else f"{self.name}.{self.number}"

    def start(self) -> None:
        self.number += 1
        self.process = self._start(self.number)

    def kill(self) -> None:
        """Kill it as it lives: one that had ended before is a fault."""
        assert self.process is not None
        self.process.kill()
        self.process.join()
        assert self.process.exitcode == -signal.SIGKILL, f"{self.life}: {self.process.exitcode}"

    def join(self, seconds: float) -> int | None:
        """Its exit code, None for one that goes on after so long."""
        assert self.process is not None
        self.process.join(seconds)
        return self.process.exitcode

    def end(self) -> None:
        if self.process is not None and self.process.exitcode is None:
            self.process.kill()
            self.process.join()
