"""A copy of the file as it is at one instant, made while others go on writing.

In WAL mode nobody waits for it. In the mode for network volumes nobody can write meanwhile.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores.sqlite_connection import translate
from queuelog_core.stores.sqlite_file import SqliteFile


def back_up(file: SqliteFile, target: Path) -> None:
    """Write the copy beside the target, read it through, and only then give it its name."""
    if target.exists():
        raise ConfigError(f"{target} exists: name a new file")
    draft = target.with_name(target.name + ".new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        raise ConfigError(
            f"{draft} exists: another backup runs, or one was interrupted; then delete it"
        ) from None
    try:
        _copy(file, draft)
        sync_to_disk(draft)
        # A link, because a rename would replace a file that has come meanwhile.
        target.hardlink_to(draft)
    except FileExistsError:
        raise ConfigError(f"{target} exists: name a new file") from None
    finally:
        draft.unlink()
    sync_to_disk(target.parent)


def _copy(file: SqliteFile, draft: Path) -> None:
    copy = sqlite3.connect(draft, isolation_level=None, check_same_thread=False)
    # Nobody else knows of it, so it needs no file of shared memory, for which there may be no room.
    copy.execute("PRAGMA locking_mode=EXCLUSIVE")

    def fill(connection: sqlite3.Connection) -> None:
        with told_of(draft):
            # In one step: one in many never ends while others write.
            connection.backup(copy, pages=-1)

    try:
        file.read(fill)
        with told_of(draft):
            # The pages say WAL like those they were copied from; no network volume can take that.
            copy.execute("PRAGMA journal_mode=DELETE").fetchone()
            found = copy.execute("PRAGMA integrity_check").fetchall()
        if found != [("ok",)]:
            raise StoreUnavailable(f"{file.path} is damaged, and so is its copy: see db check")
    finally:
        copy.close()


@contextlib.contextmanager
def told_of(draft: Path) -> Iterator[None]:
    """What goes wrong with a copy, in our words."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, draft) from error


def sync_to_disk(path: Path) -> None:
    """Bring a file, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
