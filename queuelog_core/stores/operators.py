"""What operators ask of a store that is a file, and of a table what little there is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from queuelog_core.stores import is_table, path_and_query, tables


class StoreFile(Protocol):
    """What an operator asks of a store that is a file. All raise StoreUnavailable and StoreBusy."""

    def backup(self, target: Path) -> None:
        """Copy all jobs as they are at one instant, while others go on. Raises ConfigError for a
        target that exists."""

    def size(self) -> int:
        """Bytes of the file."""

    def check(self) -> Sequence[str]:
        """What is wrong with the file, in words; nothing when all is well."""

    def migrate(self) -> tuple[int, int]:
        """Bring the file to this version of the schema: the versions before and after."""

    def close(self) -> None:
        """Give the file back."""


def migrate(url: str) -> tuple[int, int]:
    """Bring a file to this version of the schema, or make a table: the versions before and after,
    0 for what was not there. Raises like open_store."""
    if is_table(url):
        versions: tuple[int, int] = tables().make_table(url)
        return versions
    file = open_file(url)
    try:
        return file.migrate()
    finally:
        file.close()


def open_file(url: str) -> StoreFile:
    """Open the file of such an address as it is: it is neither made nor upgraded. Raises alike, and
    ConfigError for a table."""
    from queuelog_core.stores.sqlite import open_sqlite

    return open_sqlite(*path_and_query(url), existing=True)


def restore_file(url: str, copy: Path, stamp: str) -> Path:
    """Put a backup in the place of the file of such an address. What was there goes beside it, its
    name ending with the stamp; returns where. Raises ConfigError for a copy that is not whole."""
    from queuelog_core.stores.sqlite_restore import restore

    path = Path(path_and_query(url)[0]).resolve()
    aside = path.with_name(f"{path.name}.before-{stamp}")
    restore(path, copy, aside)
    return aside
