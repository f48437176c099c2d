"""The network volume: found in the mount table, guarded against what its client does not see."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import pytest

from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores import Store, open_store, sqlite_connection, sqlite_file
from queuelog_core.stores import volume as volumes
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.volume import NETWORK, find_mount, hot_journal, is_network
from tests.support.backlogs import thread_connection
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim, complete, insert

HEADER_BYTES, PAGE_BYTES = 100, 4096
PAYLOAD = '{"a":"' + "a" * 60_000 + '"}'
S = TypeVar("S", bound=Store)
MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/queue rw,relatime shared:5 - nfs4 fs-1.example:/ rw,vers=4.1
31 22 0:41 / /mnt/two\\040words rw - nfs host:/ rw
32 30 8:2 / /mnt/queue/local rw - ext4 /dev/sdb1 rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/queuelog.db", "ext4"),
        ("/mnt/queue/queuelog.db", "nfs4"),
        ("/mnt/queue/deeper/queuelog.db", "nfs4"),
        ("/mnt/queue2/queuelog.db", "ext4"),
        ("/mnt/two words/queuelog.db", "nfs"),
        ("/mnt/queue/local/queuelog.db", "ext4"),
    ],
)
def test_the_innermost_mount_decides(path: str, kind: str) -> None:
    assert find_mount(Path(path), MOUNTS)[1] == kind


def test_this_machines_temporary_folder_is_local(tmp_path: Path) -> None:
    assert not is_network(tmp_path)


def test_a_journal_is_hot_only_with_a_synced_header(tmp_path: Path) -> None:
    database = tmp_path / "queuelog.db"
    journal = tmp_path / "queuelog.db-journal"

    states = [hot_journal(database)]
    for content in (b"", b"\0" * 512, b"\xd9\xd5\x05\xf9"):
        journal.write_bytes(content)
        states.append(hot_journal(database))

    assert states == [False, False, False, True]


CRASH = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size=1")
c.execute("BEGIN IMMEDIATE")
c.execute("CREATE TABLE half (x)")
c.execute("UPDATE job_payloads SET payload = replace(payload, 'a', 'b')")
os._exit(0)
"""


def filled(store: S) -> S:
    """The store with jobs whose payloads take many pages."""
    for _ in range(4):
        insert(store, payload=PAYLOAD)
    return store


def crash_a_writer(path: Path) -> None:
    """A process that dies with half a transaction in the file leaves a hot journal."""
    subprocess.run([sys.executable, "-c", CRASH, str(path)], check=True)
    assert hot_journal(path)


@pytest.mark.parametrize("first_is_write", [True, False])
def test_a_dead_writers_journal_is_rolled_back_by_the_next_access(
    tmp_path: Path, first_is_write: bool
) -> None:
    path = tmp_path / "queuelog.db"
    store = filled(SqliteStore(path, NETWORK))
    store.close()
    crash_a_writer(path)

    if first_is_write:
        insert(store)

    jobs = [store.get(number) for number in range(1, 5)]
    assert [job and job.payload for job in jobs] == [PAYLOAD] * 4
    assert not hot_journal(path)
    store.close()


class Forgotten:
    """A half-written first page and its journal, of which SQLite sees nothing until the folder was
    asked: so a kernel on NFS remembers that there was none."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        crash_a_writer(path)
        self._journal = path.with_name(f"{path.name}-journal")
        self._away = self._journal.rename(path.with_name("away"))
        with path.open("r+b") as file:
            file.seek(HEADER_BYTES)
            file.write(bytes(PAGE_BYTES - HEADER_BYTES))
        for module in (sqlite_connection, sqlite_file):
            monkeypatch.setattr(module, "hot_journal", self._ask)

    def _ask(self, path: Path) -> bool:
        if self._away.exists():
            self._away.rename(self._journal)
        return hot_journal(path)


@pytest.mark.parametrize("first_is_write", [True, False])
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "new"])
def test_a_file_that_half_a_commit_makes_look_damaged_is_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool, first_is_write: bool
) -> None:
    path = tmp_path / "queuelog.db"
    store = filled(SqliteStore(path, NETWORK))
    if not is_open:
        store.close()
    Forgotten(path, monkeypatch)

    store = store if is_open else SqliteStore(path, NETWORK)
    if first_is_write:
        store.check_writable()

    jobs = [store.get(number) for number in range(1, 5)]
    assert [job and job.payload for job in jobs] == [PAYLOAD] * 4
    assert store.check() == []
    store.close()


def test_a_link_to_the_file_does_not_hide_a_dead_writers_journal(tmp_path: Path) -> None:
    """SQLite names the journal after the file, so the guard must look there too."""
    real = tmp_path / "real.db"
    link = tmp_path / "link.db"
    link.symlink_to(real)
    store = filled(open_store(f"sqlite:///{link}?volume=network"))
    store.close()
    crash_a_writer(real)

    job = open_store(f"sqlite:///{link}?volume=network").get(1)

    assert job is not None
    assert job.payload == PAYLOAD
    assert not hot_journal(real)


class Pause:
    """A clock that jumps ahead when it is read for the nth time, as after a long freeze."""

    def __init__(self, at_read: int) -> None:
        self.reads = 0
        self.at_read = at_read

    def __call__(self) -> float:
        self.reads += 1
        return 0.0 if self.reads < self.at_read else 11.0


@pytest.mark.parametrize(
    ("at_read", "is_stored"),
    [(2, False), (3, False), (4, True)],
    ids=["before writing", "before the commit", "in the commit"],
)
def test_a_transaction_that_was_frozen_too_long_is_not_reported_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_read: int, is_stored: bool
) -> None:
    path = tmp_path / "queuelog.db"
    store = SqliteStore(path, NETWORK)
    insert(store)
    monkeypatch.setattr(volumes, "boot_seconds", Pause(at_read))

    with pytest.raises(StoreUnavailable, match="took too long"):
        insert(store)

    monkeypatch.undo()
    assert (store.get(2) is not None) == is_stored
    assert insert(store).id > 1
    store.close()


def test_the_network_mode_keeps_no_log_beside_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "queuelog.db", NETWORK)
    insert(store)

    assert [file.name for file in tmp_path.iterdir()] == ["queuelog.db"]
    connection = sqlite3.connect(tmp_path / "queuelog.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    store.close()


def test_on_a_network_nothing_is_written_into_the_file_before_the_commit(tmp_path: Path) -> None:
    """A client that dies then leaves half a transaction, which others may take for the whole."""
    path = tmp_path / "queuelog.db"
    store = SqliteStore(path, NETWORK)
    payload = '{"text":"' + "x" * 65_000 + '"}'
    for _ in range(10):
        store.insert_many([pending_job(payload=payload) for _ in range(20)])
    for job in claim(store, limit=200):
        complete(store, job)
    seen: list[tuple[str, int, int]] = []

    def watch(statement: str) -> None:
        if statement in ("BEGIN IMMEDIATE", "COMMIT"):
            found = path.stat()
            seen.append((statement, found.st_size, found.st_mtime_ns))

    thread_connection(store).set_trace_callback(watch)
    assert store.purge(NOON + 1, 200) == 200
    thread_connection(store).set_trace_callback(None)

    begun = [statement for statement, _, _ in seen].index("BEGIN IMMEDIATE")
    before, at_the_end = seen[begun : begun + 2]
    assert at_the_end == ("COMMIT", *before[1:])
    store.close()
