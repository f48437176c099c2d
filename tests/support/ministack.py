"""MiniStack, an emulator of AWS, as a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.http import ROOT
from tests.support.offline import free_ports
from tests.support.servers import Server, running

_COMMAND = ROOT / ".venv-cloud" / "bin" / "ministack"


class MiniStack(NamedTuple):
    """The process, and the port that it will listen on."""

    server: Server
    port: int


@contextmanager
def started(folder: Path, **settings: str) -> Iterator[MiniStack]:
    """The emulator over a folder, perhaps not answering yet."""
    assert _COMMAND.exists(), "sh scripts/setup.sh cloud makes .venv-cloud"
    port = free_ports(1)
    env = {
        "PATH": f"{_COMMAND.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        **settings,
    }
    with running([str(_COMMAND)], folder, env) as server:
        yield MiniStack(server, port)
