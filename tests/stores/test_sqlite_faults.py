"""Files that cannot be used: each one clear error, never a silent new file or a wrong success."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queuelog_core import transitions
from queuelog_core.errors import ConfigError, StoreBusy, StoreUnavailable
from queuelog_core.stores import open_store
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.sqlite_schema import migrations
from queuelog_core.stores.volume import LOCAL, NETWORK, Volume
from tests.support.backlogs import thread_connection
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim_one, insert

IMPATIENT = LOCAL._replace(busy_seconds=0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queuelog.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, IMPATIENT)
    yield store
    store.close()


@pytest.fixture
def other(store: SqliteStore, path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else's connection to the same file."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "write",
    [
        insert,
        claim_one,
        lambda store: store.update(1, lambda job: transitions.cancel(job, NOON)),
        lambda store: store.check_writable(),
    ],
    ids=["insert", "claim", "update", "check"],
)
def test_a_write_is_busy_while_others_hold_the_file_and_works_afterwards(
    store: SqliteStore, other: sqlite3.Connection, write: Callable[[SqliteStore], object]
) -> None:
    insert(store)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreBusy):
        write(store)

    other.execute("COMMIT")
    write(store)


def test_reads_go_on_while_others_write(store: SqliteStore, other: sqlite3.Connection) -> None:
    job = insert(store)
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE jobs SET type = 'pdf'")

    assert store.get(job.id) == job


def test_a_full_disk_refuses_the_write_and_the_next_one_works(store: SqliteStore) -> None:
    """B55: the cause is not hidden by a rollback that SQLite has already done."""
    insert(store)
    connection = thread_connection(store)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")

    with pytest.raises(StoreUnavailable, match="the disk is full") as refusal:
        store.insert_many([pending_job(payload='{"a":"' + "x" * 60_000 + '"}')])

    connection.execute("PRAGMA max_page_count=1000000")
    assert "SQLITE_FULL" in refusal.value.reason
    assert insert(store).id == 2


def test_a_connection_that_is_read_only_is_replaced_by_one_that_may_write(
    store: SqliteStore,
) -> None:
    """One that was opened while the file was read-only would refuse every write for good."""
    insert(store)
    thread_connection(store).execute("PRAGMA query_only=ON")

    assert insert(store).id == 2


@pytest.mark.parametrize(
    "ruin",
    [
        lambda path: path.write_bytes(b"not a database, but long enough for a header " * 100),
        lambda path: path.write_bytes(path.read_bytes()[:3000]),
        lambda path: path.write_bytes(path.read_bytes()[:5000] + os.urandom(8000)),
    ],
    ids=["garbage", "truncated", "overwritten"],
)
def test_a_ruined_file_stops_the_start_and_is_left_as_it_is(
    path: Path, ruin: Callable[[Path], object]
) -> None:
    SqliteStore(path).close()
    ruin(path)
    before = path.read_bytes()

    with pytest.raises(StoreUnavailable) as refusal:
        insert(SqliteStore(path))

    assert str(path) in refusal.value.reason
    assert path.read_bytes() == before


def test_a_file_of_a_newer_version_is_refused_by_name(path: Path) -> None:
    """B54."""
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={len(migrations()) + 1}")
    connection.close()

    with pytest.raises(StoreUnavailable) as refusal:
        SqliteStore(path)
    assert "upgrade queuelog" in refusal.value.reason


def test_another_applications_database_is_refused_and_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()

    with pytest.raises(StoreUnavailable) as refusal:
        SqliteStore(path)

    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("notes",)]
    connection.close()
    assert "another application" in refusal.value.reason


def test_a_file_that_vanishes_is_an_error_and_never_a_new_one(
    store: SqliteStore, path: Path
) -> None:
    insert(store)
    path.unlink()

    calls: list[Callable[[], object]] = [
        lambda: insert(store),
        lambda: store.get(1),
        store.check_writable,
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable, match="replaced since the start"):
            call()
    assert not path.exists()


def test_a_folder_that_turns_into_a_file_is_one_clear_error(store: SqliteStore, path: Path) -> None:
    """Whatever the system answers to a look at the file, it is a store that cannot be used."""
    insert(store)
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.write_text("")

    with pytest.raises(StoreUnavailable):
        insert(store)

    path.parent.unlink()
    path.parent.with_name("elsewhere").rename(path.parent)
    assert insert(store).id == 2


def test_a_new_file_is_for_its_owner_alone(store: SqliteStore, path: Path) -> None:
    insert(store)

    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}

    assert modes == dict.fromkeys(modes, 0o600)
    assert len(modes) == 3


def test_a_file_that_was_replaced_is_an_error(store: SqliteStore, path: Path) -> None:
    insert(store)
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    copy.replace(path)

    with pytest.raises(StoreUnavailable, match="replaced since the start"):
        insert(store)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing is not a folder"):
        open_store(f"sqlite:///{tmp_path}/missing/queuelog.db")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "queuelog.db",
        "sqlite:",
        "sqlite://host/a",
        "postgres:///a",
        "sqlite:///a?mode=ro",
        "sqlite:///a?volume=floppy",
        "sqlite:///a#b.db",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        open_store(url)


def test_a_network_volume_refuses_a_file_in_wal_mode(path: Path) -> None:
    SqliteStore(path, LOCAL).close()

    with pytest.raises(StoreUnavailable) as refusal:
        SqliteStore(path, NETWORK)
    assert "PRAGMA journal_mode=DELETE" in refusal.value.reason


def test_a_file_from_a_network_volume_becomes_wal_on_a_local_disk(path: Path) -> None:
    network = SqliteStore(path, NETWORK)
    insert(network)
    network.close()

    store = SqliteStore(path, LOCAL)

    assert thread_connection(store).execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store.get(1) is not None
    store.close()


@pytest.mark.parametrize("volume", [LOCAL, NETWORK], ids=["local", "network"])
def test_an_acknowledged_write_is_synced(path: Path, volume: Volume) -> None:
    store = SqliteStore(path, volume)

    full = 2
    assert thread_connection(store).execute("PRAGMA synchronous").fetchone() == (full,)
    store.close()
