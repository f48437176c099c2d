"""The backups of a store that is a file: made each night, kept for a week, put back on request."""

from pathlib import Path

from queuelog_core.clock import format_instant
from queuelog_core.errors import ConfigError
from queuelog_core.stores import is_table
from queuelog_core.stores.operators import open_file, restore_file

KEPT = 7
BYTES_MAX = 64 * 1024 * 1024
"""On a network volume nobody can write meanwhile: more would keep them waiting for too long."""


def check_is_file(store: str) -> None:
    """Raises ConfigError for a table, whose backups are not made here."""
    if is_table(store):
        raise ConfigError("DynamoDB backs the table up by itself: see docs/operations.md")


def back_up(store: str, folder: Path, now: int) -> str:
    """A whole copy of the file, read through, in the folder; older ones beyond a week of them are
    deleted. Returns its name."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for draft in folder.glob("queuelog-*Z.db.new"):
        draft.unlink()  # of a function that was cut off
    target = folder / f"queuelog-{stamp(now)}.db"
    file = open_file(store)
    try:
        if file.size() > BYTES_MAX:
            raise ConfigError(f"the file is over {BYTES_MAX} bytes: see docs/operations.md")
        file.backup(target)
    finally:
        file.close()
    for old in names(folder)[:-KEPT]:
        (folder / old).unlink()
    return target.name


def names(folder: Path) -> list[str]:
    """What there is, the oldest first."""
    return sorted(path.name for path in folder.glob("queuelog-*Z.db"))


def restore(store: str, folder: Path, name: str, now: int) -> str:
    """Put a backup in the place of the file. Returns the name under which the old one lies beside
    it. Raises ConfigError for a name that is none of `names`."""
    if name not in names(folder):
        raise ConfigError("there is no backup of this name: ask with list_backups")
    return restore_file(store, folder / name, stamp(now)).name


def stamp(now: int) -> str:
    """An instant as a file's name can hold it: `20261130T033000.000Z`."""
    return format_instant(now).translate({ord(":"): "", ord("-"): ""})
