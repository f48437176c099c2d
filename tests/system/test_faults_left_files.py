"""What a process that died left beside the file, cut off or turned into garbage: what can be read
of it counts, the rest never spoils the file."""

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from queuelog_core.stores import Filter, open_store
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.volume import hot_journal
from tests.support.backlogs import thread_connection
from tests.support.factories import pending_job
from tests.support.seeds import seed
from tests.support.stores import insert

CUTS = int(os.environ.get("QUEUELOG_FAULT_CUTS", "25"))
OLD, BATCH, BATCHES = 5, 3, 6
GARBAGE_BYTES = 5_000
"""More than a page and its sum. SQLite adds up every two-hundredth byte of a page of a journal, and
what is shorter may leave the sum as it was."""
UNFINISHED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size=1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE jobs SET type = 'spoilt'")
connection.execute("UPDATE job_payloads SET payload = replace(payload, 'a', 'b')")
os._exit(0)
"""


def opened(path: Path, mode: str) -> SqliteStore:
    store = open_store(f"sqlite:///{path}?volume={mode}")
    assert isinstance(store, SqliteStore)
    return store


def keys_of(store: SqliteStore) -> list[str | None]:
    page = store.list(Filter(newest_first=False), 200, None)
    return [job.idempotency_key for job in page.jobs]


def batches() -> Sequence[Sequence[str]]:
    return [[f"{number}-{n}" for n in range(BATCH)] for number in range(BATCHES)]


@pytest.fixture
def logged(tmp_path: Path) -> tuple[bytes, bytes]:
    """A file with old jobs, and its log with batches, as a process leaves them that is killed."""
    path = tmp_path / "source.db"
    with closing(opened(path, "local")) as store:
        for number in range(OLD):
            insert(store, idempotency_key=f"old-{number}")
        thread_connection(store).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for keys in batches():
            store.insert_many([pending_job(idempotency_key=key) for key in keys])
        return path.read_bytes(), Path(f"{path}-wal").read_bytes()


def spoil(data: bytes, chance: random.Random) -> bytes:
    """Cut off somewhere, or garbage from there on, or for a while."""
    at = chance.randrange(len(data))
    rest = len(data) - at
    garbage = chance.randbytes(chance.choice([rest, min(rest, GARBAGE_BYTES)]))
    return chance.choice([data[:at], data[:at] + garbage + data[at + len(garbage) :]])


def test_of_a_log_that_is_spoilt_whole_transactions_count_up_to_the_fault(
    tmp_path: Path, logged: tuple[bytes, bytes]
) -> None:
    chance = random.Random(seed())
    data, log = logged
    old = [f"old-{number}" for number in range(OLD)]
    kept = []
    for number in range(CUTS):
        path = tmp_path / f"{number}.db"
        path.write_bytes(data)
        Path(f"{path}-wal").write_bytes(spoil(log, chance))
        Path(f"{path}-shm").write_bytes(chance.randbytes(chance.choice([0, 32_768])))

        with closing(opened(path, "local")) as store:
            found = keys_of(store)
            count = (len(found) - OLD) // BATCH
            assert found == [*old, *(key for keys in batches()[:count] for key in keys)]
            assert store.check() == []
            assert insert(store, idempotency_key="new").id == len(found) + 1
        kept.append(count)
    sys.stdout.write(f"{CUTS} spoilt logs kept {sorted(kept)} of {BATCHES} batches\n")
    assert min(kept) < BATCHES


@pytest.fixture
def journalled(tmp_path: Path) -> tuple[bytes, bytes]:
    """A sound file, and the journal of a change to it that was never made."""
    path = tmp_path / "source.db"
    with closing(opened(path, "network")) as store:
        for number in range(OLD):
            insert(store, idempotency_key=f"old-{number}", payload='{"a":"' + "a" * 30_000 + '"}')
    data = path.read_bytes()
    subprocess.run([sys.executable, "-c", UNFINISHED, str(path)], check=True)
    assert hot_journal(path)
    assert path.read_bytes() != data
    return data, Path(f"{path}-journal").read_bytes()


def test_a_journal_that_is_spoilt_never_spoils_the_file(
    tmp_path: Path, journalled: tuple[bytes, bytes]
) -> None:
    chance = random.Random(seed())
    data, journal = journalled
    for number in range(CUTS):
        path = tmp_path / f"{number}.db"
        path.write_bytes(data)
        Path(f"{path}-journal").write_bytes(spoil(journal, chance))

        with closing(opened(path, "network")) as store:
            assert keys_of(store) == [f"old-{n}" for n in range(OLD)]
            assert store.check() == []
            assert insert(store, idempotency_key="new").id == OLD + 1
        assert not hot_journal(path)
