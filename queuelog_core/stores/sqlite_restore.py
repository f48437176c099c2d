"""A backup in the place of the file. Stop the servers before: one that still has the old file open
says that it was replaced, and writes nothing more into it."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores.sqlite_backup import sync_to_disk, told_of
from queuelog_core.stores.sqlite_schema import version

BESIDE = ("-journal", "-wal", "-shm")
LOCK_SECONDS = 5.0
LAST_ID = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'"


def restore(path: Path, copy: Path, aside: Path) -> None:
    """Put a whole copy at `path`, and what was there with all that belongs to it at `aside`. Ids
    that were given since the copy are not given again, unless what was there cannot be read.

    Raises ConfigError for a copy that is not whole, and while somebody writes; StoreUnavailable
    when the copy cannot be written.
    """
    if aside.exists():
        raise ConfigError(f"{aside} exists: name a new file")
    _refuse_unless_whole(copy)
    draft = path.with_name(path.name + ".restoring")
    for suffix in ("", *BESIDE):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)
    try:
        shutil.copyfile(copy, draft)
        draft.chmod(0o600)
        last_id = _last_id_unless_somebody_writes(path)
        with told_of(draft):
            _keep_ids_apart(draft, last_id)
        sync_to_disk(draft)
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


def _last_id_unless_somebody_writes(path: Path) -> int:
    """The last id that was given, 0 where there is none. Looked at and let go: closed later, this
    connection would remove the new file's log. A file that is no database any more, which may be
    the reason to restore, has no writers."""
    if not path.exists():
        return 0
    with contextlib.closing(
        sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
    ) as it:
        try:
            it.execute("BEGIN EXCLUSIVE")
            return int(it.execute(LAST_ID).fetchone()[0])
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise ConfigError(f"{path}: somebody writes: stop the servers first") from error
            return 0


def go_on_after(connection: sqlite3.Connection, last_id: int) -> None:
    """Let no new job have an id up to this one."""
    last_id = max(last_id, connection.execute(LAST_ID).fetchone()[0])
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'jobs'")
    connection.execute("INSERT INTO sqlite_sequence VALUES ('jobs', ?)", (last_id,))


def _keep_ids_apart(draft: Path, last_id: int) -> None:
    """A worker may still hold a job that the copy does not know: its report must never meet
    another job of the same id."""
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as it:
        # Nobody else knows of it, so it needs no file of shared memory.
        it.execute("PRAGMA locking_mode=EXCLUSIVE")
        it.execute("BEGIN IMMEDIATE")
        go_on_after(it, last_id)
        it.execute("COMMIT")
