"""The schema: numbered migrations, applied under one write transaction, whoever comes first."""

import functools
import sqlite3
from pathlib import Path

from queuelog_core.errors import StoreUnavailable

APPLICATION_ID = 0x514C4F47
_FOLDER = Path(__file__).parent / "migrations"


@functools.cache
def migrations() -> tuple[tuple[str, ...], ...]:
    """The statements of each migration; number n brings a file from version n - 1 to n."""
    files = sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    return tuple(_statements(file.read_text("utf-8")) for file in files)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version of the schema; does not write when it is there already.

    May be repeated when others hold the file. Raises StoreUnavailable for a file from a newer
    version, or of another application.
    """
    if _version(connection) == len(migrations()):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for steps in migrations()[_version(connection) :]:
            for statement in steps:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID:d}")
        connection.execute(f"PRAGMA user_version={len(migrations()):d}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if application != APPLICATION_ID and (version or tables):
        raise StoreUnavailable("the file is another application's SQLite database")
    if version > len(migrations()):
        raise StoreUnavailable(
            f"the file is of schema version {version}, this queuelog knows {len(migrations())}: "
            "upgrade queuelog"
        )
    return version


def _statements(script: str) -> tuple[str, ...]:
    """Split a script; executing it as a whole would commit behind our back."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current.strip())
            current = ""
    assert not current.strip()
    return tuple(statements)
