"""Where the file lies: a local disk or a network volume, and what that asks of SQLite.

On NFS a client answers SQLite's look for a crashed writer's journal from a cache up to 30 s old;
half a transaction then becomes permanent. So there every access asks the server itself
(`hot_journal`), and a transaction is given up once its lock may have been lost (`Guard`).
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from queuelog_core.clock import boot_seconds
from queuelog_core.errors import StoreUnavailable

GUARD_SECONDS = 10.0
_NETWORK_TYPES = frozenset({"nfs", "nfs4"})
_OCTAL = re.compile(r"\\([0-7]{3})")


class Volume(NamedTuple):
    """How to open and share a file: journal mode (None: the file's own), waits in seconds, cache
    (negative: KiB). `pause_seconds` is the longest pause between two tries, at first and later."""

    journal_mode: str | None
    busy_seconds: float
    pause_seconds: tuple[float, float]
    cache_size: int
    guarded: bool


LOCAL = Volume(
    journal_mode="wal",
    busy_seconds=5.0,
    pause_seconds=(0.002, 0.002),
    cache_size=-2000,
    guarded=False,
)
NETWORK = Volume(
    journal_mode="delete",
    busy_seconds=4.0,
    pause_seconds=(0.08, 0.002),
    cache_size=-8000,
    guarded=True,
)


def find_mount(path: Path, mountinfo: str) -> tuple[str, str]:
    """Mount point and file system type of a path, from the text of /proc/self/mountinfo."""
    best = ("/", "unknown")
    for line in mountinfo.splitlines():
        fields, _, tail = line.partition(" - ")
        point = _OCTAL.sub(lambda octal: chr(int(octal.group(1), 8)), fields.split(" ")[4])
        if path.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, tail.split(" ")[0])
    return best


def is_network(path: Path) -> bool:
    """Whether a path lies on NFS; a machine without a mount table counts as local."""
    try:
        mountinfo = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except FileNotFoundError:
        return False
    return find_mount(path.resolve(), mountinfo)[1] in _NETWORK_TYPES


def hot_journal(path: Path) -> bool:
    """Ask the server whether a journal lies there that SQLite would roll back.

    Opening the folder drops the client's memory of the name, opening the file renews its size. A
    journal whose first byte is 0 was never synced and is harmless.
    """
    os.close(os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY))
    try:
        descriptor = os.open(f"{path}-journal", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return os.pread(descriptor, 1, 0) not in (b"", b"\0")
    finally:
        os.close(descriptor)


def refuse_wal(path: Path) -> int | None:
    """Raise StoreUnavailable if the file says WAL in its header, which never works on a network.

    Returns the descriptor, which must stay open as long as the file is in use: closing any
    descriptor of a file drops all locks that this process holds on it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if 2 in os.pread(descriptor, 2, 18):
        os.close(descriptor)
        raise StoreUnavailable(
            f"{path} is in WAL mode, which loses data on a network volume; on a local disk run: "
            f'sqlite3 "{path.name}" "PRAGMA journal_mode=DELETE"'
        )
    return descriptor


class Guard:
    """Watches the time of one transaction on a network volume."""

    def __init__(self, volume: Volume) -> None:
        self._guarded = volume.guarded
        self._started = boot_seconds() if volume.guarded else 0.0

    def check(self, where: str) -> None:
        """Raise StoreUnavailable once the lock may have been lost, for instance by a long pause."""
        if self._guarded and boot_seconds() - self._started > GUARD_SECONDS:
            raise StoreUnavailable(f"the transaction took too long, noticed {where}")
