"""`db backup` that cannot be finished: a clear error, and nothing where the copy was to be."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores import sqlite_backup
from queuelog_core.stores.operators import open_file
from queuelog_core.stores.sqlite import SqliteStore
from tests.stores.test_backup import JOBS, files, filled, open_sqlite, read
from tests.support.processes import exit_code_of


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "monday.db"


@pytest.mark.parametrize("step", ["_copy", "sync_to_disk"])
def test_a_backup_that_is_interrupted_leaves_nothing(
    store: SqliteStore, target: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    do = getattr(sqlite_backup, step)

    def interrupted(*arguments: Any) -> None:
        do(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_backup, step, interrupted)

    with pytest.raises(KeyboardInterrupt):
        filled(store).backup(target)

    assert files(target.parent) == []
    monkeypatch.undo()
    store.backup(target)
    assert read(target, "SELECT count(*) FROM jobs") == [JOBS]


def back_up_and_die(source: Path, target: Path, step: str) -> None:
    """Killed right after one step of the backup."""
    do = getattr(sqlite_backup, step)

    def die(*arguments: Any) -> None:
        do(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(sqlite_backup, step, die)
    open_file(f"sqlite:///{source}").backup(target)


@pytest.mark.parametrize("step", ["_copy", "sync_to_disk"])
def test_a_backup_that_is_killed_leaves_no_target_and_says_what_to_delete(
    tmp_path: Path, target: Path, step: str
) -> None:
    store = filled(open_sqlite(tmp_path / "queuelog.db"))

    assert exit_code_of(back_up_and_die, tmp_path / "queuelog.db", target, step) == -signal.SIGKILL

    assert not target.exists()
    with pytest.raises(ConfigError, match="interrupted; then delete it"):
        store.backup(target)
    (target.parent / "monday.db.new").unlink()
    store.backup(target)
    assert read(target, "SELECT count(*) FROM jobs") == [JOBS]
    store.close()


@contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[None]:
    """A real one where this process may mount it; else SQLite itself keeps the copy as small."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            yield
        finally:
            subprocess.run(["umount", folder], check=True)
    else:
        with small_copies(kibibytes // 4):
            yield


@contextmanager
def small_copies(pages: int) -> Iterator[None]:
    connect = sqlite3.connect

    def connect_small(database: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, **options)
        if str(database).endswith(".new"):
            connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_small)
        yield


@pytest.mark.parametrize("small", [small_disk, lambda _, size: small_copies(size // 4)])
def test_a_disk_that_is_too_small_is_told_and_nothing_is_left_on_it(
    tmp_path: Path, target: Path, small: Callable[[Path, int], AbstractContextManager[None]]
) -> None:
    """From half of what is needed up to the page: also when the last steps find no room."""
    store = filled(open_sqlite(tmp_path / "queuelog.db"))
    store.backup(tmp_path / "sample.db")
    needed = (tmp_path / "sample.db").stat().st_size // 1024
    copied = 0

    for kibibytes in (needed // 2, *range(needed - 8, needed + 17, 4)):
        with small(target.parent, kibibytes):
            try:
                store.backup(target)
                copied += 1
                target.unlink()
            except StoreUnavailable as error:
                assert f"{target}.new: the disk is full" in error.reason
                assert files(target.parent) == []

    assert copied, "the largest disk had room"
    assert store.check() == []
    store.close()


def test_a_damaged_file_is_not_copied(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "queuelog.db"
    filled(open_sqlite(source)).close()
    data = source.read_bytes()
    source.write_bytes(data[: len(data) // 2] + os.urandom(4096) + data[len(data) // 2 + 4096 :])

    with pytest.raises(StoreUnavailable, match="damaged"):
        open_sqlite(source).backup(target)

    assert files(target.parent) == []
