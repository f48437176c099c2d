"""A backup in the place of the file. Stop the servers before: one that still has the old file open
says that it was replaced, and writes nothing more into it."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores.sqlite_backup import sync_to_disk
from queuelog_core.stores.sqlite_schema import version

BESIDE = ("-journal", "-wal", "-shm")
LOCK_SECONDS = 5.0


def restore(path: Path, copy: Path, aside: Path) -> None:
    """Put a whole copy at `path`, and what was there with all that belongs to it at `aside`.

    Raises ConfigError for a copy that is not whole, and while somebody writes.
    """
    if aside.exists():
        raise ConfigError(f"{aside} exists: name a new file")
    _refuse_unless_whole(copy)
    draft = path.with_name(path.name + ".restoring")
    draft.unlink(missing_ok=True)
    try:
        shutil.copyfile(copy, draft)
        draft.chmod(0o600)
        sync_to_disk(draft)
        _refuse_while_somebody_writes(path)
        # What lies beside the old file would be played into the copy and ruin it.
        for suffix in ("", *BESIDE):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
        draft.rename(path)
        sync_to_disk(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _refuse_unless_whole(copy: Path) -> None:
    try:
        with contextlib.closing(
            sqlite3.connect(f"{copy.resolve().as_uri()}?mode=ro", uri=True)
        ) as it:
            if version(it) == 0:
                raise StoreUnavailable("the file is empty")
            found = it.execute("PRAGMA integrity_check").fetchall()
    except (sqlite3.Error, StoreUnavailable) as error:
        why = error.reason if isinstance(error, StoreUnavailable) else str(error)
        raise ConfigError(f"{copy} is no backup: {why}") from error
    if found != [("ok",)]:
        raise ConfigError(f"{copy} is damaged: take another backup")


def _refuse_while_somebody_writes(path: Path) -> None:
    """Looked at and let go: closed later, this connection would remove the new file's log. A file
    that is no database any more, which may be the reason to restore, has no writers."""
    if not path.exists():
        return
    with contextlib.closing(
        sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
    ) as it:
        try:
            it.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise ConfigError(f"{path}: somebody writes: stop the servers first") from error
        except sqlite3.DatabaseError:
            pass
