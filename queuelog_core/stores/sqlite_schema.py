"""The schema: numbered migrations, applied in one write transaction, whoever comes first."""

import functools
import sqlite3
from pathlib import Path

from queuelog_core.errors import StoreUnavailable

APPLICATION_ID = 0x514C4F47
_FOLDER = Path(__file__).parent / "migrations"

# One statement reads one state of the file, also while somebody else makes the schema.
_FACTS = """
SELECT (SELECT user_version FROM pragma_user_version),
       (SELECT application_id FROM pragma_application_id),
       (SELECT count(*) FROM sqlite_schema)
"""


@functools.cache
def migrations() -> tuple[tuple[str, ...], ...]:
    """The statements of each migration; number n brings a file from version n - 1 to n."""
    files = sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    return tuple(_statements(file.read_text("utf-8")) for file in files)


def version(connection: sqlite3.Connection) -> int:
    """The schema version of the file, 0 for a new one.

    Raises StoreUnavailable for a file from a newer version, or of another application.
    """
    number: int
    number, application, tables = connection.execute(_FACTS).fetchone()
    if application != APPLICATION_ID and (number or tables):
        raise StoreUnavailable("the file is another application's SQLite database")
    if number > len(migrations()):
        raise StoreUnavailable(
            f"the file is of schema version {number}, this queuelog knows {len(migrations())}: "
            "upgrade queuelog"
        )
    return number


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether there is nothing to migrate."""
    return version(connection) == len(migrations())


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version of the schema, inside the caller's write transaction."""
    for steps in migrations()[version(connection) :]:
        for statement in steps:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID:d}")
    connection.execute(f"PRAGMA user_version={len(migrations()):d}")


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
