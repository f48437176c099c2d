"""The network between a client and the server."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def cut(client: Path) -> Iterator[None]:
    """A client without network while the block runs.

    Its connection is begun anew at the end, else TCP would wait as long again as it was cut.
    """
    link = client.name.replace("client", "link")
    _ip("link", "set", link, "down")
    try:
        yield
    finally:
        # Also after a failure: processes cannot even die while their volume is away.
        _ip("link", "set", link, "up")
        _ip("netns", "exec", client.name, "ss", "--kill", "dst", "192.168.77.1")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.DEVNULL)
