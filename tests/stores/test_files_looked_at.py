"""What `db check` and `db backup` look at is told as it is, and stays as it is."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores import open_store
from queuelog_core.stores.operators import open_file
from queuelog_core.stores.sqlite_schema import APPLICATION_ID, migrations
from tests.support.stores import insert


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A sound file that nobody uses."""
    store = open_store(f"sqlite:///{tmp_path}/queuelog.db")
    for _ in range(5):
        insert(store)
    store.close()
    return tmp_path / "queuelog.db"


def check(path: Path) -> list[str]:
    file = open_file(f"sqlite:///{path}")
    try:
        return list(file.check())
    finally:
        file.close()


RUINS: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda _: b"not a database, but long enough for a header " * 100,
    "cut inside a page": lambda data: data[:3000],
    "cut between pages": lambda data: data[: 5 * 4096],
    "overwritten": lambda data: data[:5000] + b"\xff" * 8000 + data[13_000:],
    "empty": lambda _: b"",
    "last page overwritten": lambda data: data[:-4096] + os.urandom(4096),
}


@pytest.mark.parametrize("ruin", RUINS.values(), ids=RUINS.keys())
def test_a_ruined_file_is_told_and_left_as_it_is(
    path: Path, ruin: Callable[[bytes], bytes]
) -> None:
    path.write_bytes(ruin(path.read_bytes()))
    before = snapshot(path)

    try:
        told = check(path)
    except StoreUnavailable as error:
        told = [error.reason]

    assert told
    assert snapshot(path) == before


def snapshot(path: Path) -> dict[str, bytes]:
    """All files of the folder."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def old_file(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in migrations()[0]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("PRAGMA user_version=1")


def test_an_older_schema_is_named_and_not_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "queuelog.db"
    old_file(path)
    before = snapshot(path)

    (told,) = check(path)

    assert "schema version 1" in told
    assert "start the server once" in told
    assert snapshot(path) == before


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_neither_check_nor_backup_changes_the_file(path: Path, tmp_path: Path, mode: str) -> None:
    """A copy is not in WAL mode; looking at it must not make it one."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
    before = snapshot(path)

    assert check(path) == []
    file = open_file(f"sqlite:///{path}")
    file.backup(tmp_path / "copy.db")
    file.close()

    (tmp_path / "copy.db").unlink()
    assert snapshot(path) == before


def test_a_file_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        open_file(f"sqlite:///{tmp_path}/queuelog.db")

    assert list(tmp_path.iterdir()) == []
