"""The volume as the server and each client see it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from queuelog_core.errors import StoreBusy
from queuelog_core.stores import Store, open_store

SERVER = Path("/srv/volume")
CLIENTS = tuple(Path(f"/mnt/client{number}") for number in (1, 2, 3))
FIRST, SECOND, THIRD = CLIENTS
_T = TypeVar("_T")


def make_folder(name: str) -> str:
    """A folder that no other scenario opens: opening one drops what a client remembers of it."""
    (SERVER / name).mkdir()
    return name


def store_at(folder: Path, name: str) -> Store:
    """The real store; that it lies on a network volume it finds out by itself."""
    return open_store(f"sqlite:///{folder / name}")


def store_on_the_server(name: str) -> Store:
    """The same file past all caches of clients, opened by the same rules."""
    return open_store(f"sqlite:///{SERVER / name}?volume=network")


def has_hot_journal(name: str) -> bool:
    """Whether a dead writer's journal lies on the server that has to be rolled back."""
    journal = SERVER / f"{name}-journal"
    return journal.exists() and journal.read_bytes()[:1] not in (b"", b"\0")


def when_free(call: Callable[[], _T], seconds: float) -> tuple[_T, int]:
    """As clients do: a busy store has done nothing, so ask again; how often it was busy, too."""
    give_up_at = time.monotonic() + seconds
    busy = 0
    while True:
        try:
            return call(), busy
        except StoreBusy:
            busy += 1
            if time.monotonic() >= give_up_at:
                raise
