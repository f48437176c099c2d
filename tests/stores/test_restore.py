"""Restoring a backup: the whole copy in the place of the file, the old one aside, or nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores import open_store
from queuelog_core.stores.operators import restore_file
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.sqlite_restore import LOCK_SECONDS
from tests.support.factories import pending_job

STAMP = "20261130T090000"


class Site:
    """A store, a backup of its first job, and a second job that came later."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "queuelog.db"
        self.copy = folder / "monday.db"
        self.aside = folder / f"queuelog.db.before-{STAMP}"
        self.store = self.open()
        self.store.insert(pending_job())
        self.store.backup(self.copy)
        self.store.insert(pending_job())

    def open(self) -> SqliteStore:
        store = open_store(f"sqlite:///{self.path}")
        assert isinstance(store, SqliteStore)
        return store

    def restore(self, copy: Path | None = None) -> Path:
        return restore_file(f"sqlite:///{self.path}", copy or self.copy, STAMP)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def jobs_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        number: int = connection.execute("SELECT count(*) FROM jobs").fetchone()[0]
        return number


def test_the_copy_takes_the_place_and_what_was_there_lies_aside(site: Site) -> None:
    site.store.close()

    assert site.restore() == site.aside

    assert (jobs_in(site.path), jobs_in(site.aside), jobs_in(site.copy)) == (1, 2, 1)
    restored = site.open()
    assert restored.check() == []
    restored.close()


def test_an_id_that_was_given_since_the_copy_is_not_given_again(site: Site) -> None:
    site.restore()

    restored = site.open()
    assert restored.insert(pending_job())[0].id == 3
    assert restored.check() == []
    restored.close()


def test_a_file_that_is_behind_the_copy_takes_no_ids_back(site: Site) -> None:
    newest = site.copy.with_name("newest.db")
    site.store.backup(newest)
    site.store.close()
    site.path.unlink()
    site.restore()

    restore_file(f"sqlite:///{site.path}", newest, f"{STAMP}-again")

    restored = site.open()
    assert restored.check() == []
    assert restored.insert(pending_job())[0].id == 3
    restored.close()


def test_what_a_restore_that_was_killed_left_is_not_played_into_the_copy(site: Site) -> None:
    site.store.close()
    for suffix in ("", "-journal", "-wal"):
        site.path.with_name(f"queuelog.db.restoring{suffix}").write_bytes(b"half" * 1000)

    site.restore()

    assert jobs_in(site.path) == 1
    assert not list(site.path.parent.glob("*.restoring*"))


def test_a_copy_without_a_job_goes_on_with_the_ids_too(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "queuelog.db")
    store.backup(tmp_path / "empty.db")
    store.insert(pending_job())
    store.close()

    restore_file(f"sqlite:///{tmp_path}/queuelog.db", tmp_path / "empty.db", STAMP)

    restored = SqliteStore(tmp_path / "queuelog.db")
    assert restored.insert(pending_job())[0].id == 2
    assert restored.check() == []
    restored.close()


def test_a_log_that_a_killed_server_left_is_not_played_into_the_copy(site: Site) -> None:
    assert site.path.with_name("queuelog.db-wal").stat().st_size > 0

    site.restore()

    assert not site.path.with_name("queuelog.db-wal").exists()
    assert (jobs_in(site.path), jobs_in(site.aside)) == (1, 2)


def test_a_server_that_still_runs_says_so_and_writes_nothing_more(site: Site) -> None:
    site.restore()

    with pytest.raises(StoreUnavailable, match="replaced"):
        site.store.insert(pending_job())
    assert (jobs_in(site.path), jobs_in(site.aside)) == (1, 2)


def test_a_file_that_is_damaged_or_gone_is_restored_too(site: Site) -> None:
    site.store.close()
    site.path.write_bytes(b"no database" * 1000)

    site.restore()

    assert jobs_in(site.path) == 1
    restored = site.open()
    assert restored.insert(pending_job())[0].id == 2, "nobody can know of the later one"
    restored.close()
    site.path.unlink()
    site.aside.unlink()
    site.restore()
    assert jobs_in(site.path) == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"no database at all, and long enough to look like one" * 100, "is no backup"),
        (b"", "is no backup"),
        (None, "is no backup"),
    ],
)
def test_what_is_no_whole_copy_changes_nothing(
    site: Site, tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    other = tmp_path / "other.db"
    if content is not None:
        other.write_bytes(content)

    with pytest.raises(ConfigError, match=complaint):
        site.restore(other)

    site.store.insert(pending_job())
    assert jobs_in(site.path) == 3
    assert not site.aside.exists()


def test_a_torn_copy_is_refused(site: Site) -> None:
    whole = site.copy.read_bytes()
    site.copy.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(ConfigError, match=r"is no backup|is damaged"):
        site.restore()

    assert jobs_in(site.path) == 2


def test_while_somebody_writes_nothing_is_replaced(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuelog_core.stores.sqlite_restore.LOCK_SECONDS", LOCK_SECONDS / 100)
    with closing(sqlite3.connect(site.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")

        with pytest.raises(ConfigError, match="stop the servers first"):
            site.restore()

    site.store.insert(pending_job())
    assert jobs_in(site.path) == 3


def test_a_copy_that_cannot_be_written_leaves_all_as_it_was(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuelog_core.stores.sqlite_restore.LAST_ID", "SELECT no_such_column")

    with pytest.raises(StoreUnavailable, match=r"queuelog\.db\.restoring: "):
        site.restore()

    site.store.insert(pending_job())
    assert jobs_in(site.path) == 3
    assert not list(site.path.parent.glob("*.restoring*"))


def test_what_lies_aside_is_never_overwritten(site: Site) -> None:
    site.aside.write_text("dear")

    with pytest.raises(ConfigError, match="exists"):
        site.restore()

    assert site.aside.read_text() == "dear"
