"""The whole API under serverless-offline, as `make offline` starts it."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.support.servers import Server, environment, eventually, running

END_SECONDS = 20.0
_TRIES = 200


@contextmanager
def offline(folder: Path, **settings: str) -> Iterator[Server]:
    """serverless-offline over `folder`/.queuelog, ready to answer; its process is node itself."""
    command = [sys.executable, "-m", "scripts.offline", "--port", str(free_ports(3))]
    command += ["--folder", str(folder / ".queuelog")]
    kept = {name: value for name, value in environment().items() if not name.startswith("AWS_")}
    # It shall run the code as it lies here, never a package that somebody has built.
    kept["QUEUELOG_BUILD"] = str(folder / "nothing-is-built")
    with running(command, folder, {**kept, **settings}) as server:
        try:
            yield server.wait_until_ready()
        finally:
            if server.process.poll() is None:
                server.stop()
            end_all_of(server.process.pid)


def end_all_of(group: int) -> None:
    """End what outlives the first process of a group."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    eventually(lambda: not processes_of(group), "the group is gone", END_SECONDS)


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on."""
    for _ in range(_TRIES):
        with ExitStack() as stack:
            try:
                first = _bound(stack, 0)
                for port in range(first + 1, first + count):
                    _bound(stack, port)
            except (OSError, OverflowError):
                continue
            return first
    raise AssertionError(f"no {count} free ports in a row")


def _bound(stack: ExitStack, port: int) -> int:
    listener = stack.enter_context(socket.socket())
    listener.bind(("127.0.0.1", port))
    number: int = listener.getsockname()[1]
    return number


def processes_of(group: int) -> list[int]:
    """The processes of a session that still run; those that ended and wait to be reaped do not."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = stat.read_text("utf-8").rpartition(") ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, _, _, session = rest.split()[:4]
        if int(session) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found
