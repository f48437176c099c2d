"""Single connections to an SQLite file: how one is opened, how it waits, what its errors mean."""

import logging
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from queuelog_core.clock import monotonic_seconds
from queuelog_core.errors import StoreBusy, StoreUnavailable
from queuelog_core.stores.sqlite_schema import version
from queuelog_core.stores.volume import Volume, hot_journal

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened, or its folder not be written to",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_IOERR: "the disk reports an input/output error",
}
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


def connect(path: Path, volume: Volume, mode: str, deadline: float) -> sqlite3.Connection:
    """Open the file: `mode` is rw, or rwc to make it. A commit means the data is on disk.

    Raises StoreUnavailable for a file that is not ours, before anything of it is changed.
    """
    if volume.guarded:
        # Half a commit makes the file look damaged until SQLite hears of the journal.
        hot_journal(path)
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        patiently(lambda: _set_up(connection, volume), volume, deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, volume: Volume) -> None:
    connection.execute(f"PRAGMA cache_size={volume.cache_size:d}")
    connection.execute("PRAGMA temp_store=MEMORY")
    if volume.guarded:
        # What is written into the file before its COMMIT may become permanent there.
        connection.execute("PRAGMA cache_spill=OFF")
    connection.execute("PRAGMA mmap_size=0")
    connection.execute("PRAGMA synchronous=FULL")
    version(connection)
    # This pragma writes to the file, so it is given only where the mode is another one.
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if volume.journal_mode not in (None, mode):
        connection.execute(f"PRAGMA journal_mode={volume.journal_mode}").fetchone()


def patiently(step: Callable[[], _T], volume: Volume, deadline: float) -> _T:
    """Repeat a step while others hold the file; the last error is raised at the deadline.

    The pauses become shorter: whoever comes back right after a write would else be faster than all
    who wait, again and again.
    """
    pause, at_last = volume.pause_seconds
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if primary_code(error) not in _BUSY or monotonic_seconds() >= deadline:
                raise
        time.sleep(random.uniform(pause / 2, pause))
        pause = max(at_last, pause / 2)


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without the extension, 0 where Python itself raised."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_worth_a_retry(error: sqlite3.Error) -> bool:
    """Whether a fresh connection may succeed: on NFS a good file can look damaged for a moment, and
    a connection that was opened while the file was read-only stays so for good."""
    return primary_code(error) not in _BUSY | {sqlite3.SQLITE_FULL}


def try_twice(attempt: Callable[[], _T], path: Path) -> _T:
    """What `attempt` returns; made again when that is worth it, which needs a fresh connection.

    What the second one gets over nobody is told but the operator, whose disk may be dying.
    """
    try:
        return attempt()
    except sqlite3.Error as error:
        if not is_worth_a_retry(error):
            raise
        cause = _cause(error, path)
    result = attempt()
    _log.warning("store-recovered", extra={"fields": {"cause": cause}})
    return result


def translate(error: sqlite3.Error, path: Path) -> StoreUnavailable:
    """Our error for an engine's. What points at a fault of ours is raised as it is."""
    if type(error) not in (sqlite3.OperationalError, sqlite3.DatabaseError):
        raise error
    if primary_code(error) in _BUSY:
        return StoreBusy(f"{path}: others held the file too long")
    return StoreUnavailable(_cause(error, path))


def _cause(error: sqlite3.Error, path: Path) -> str:
    name = getattr(error, "sqlite_errorname", "unknown")
    reason = _REASONS.get(primary_code(error), "SQLite refuses the file")
    return f"{path}: {reason} ({name})"
