"""`db backup`: a whole copy of one instant, also while others write."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from queuelog_core.errors import ConfigError
from queuelog_core.stores import open_store
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.factories import NOON, pending_job
from tests.support.processes import until_free
from tests.support.stores import claim_one, complete, fail, insert
from tests.support.writers import writers

JOBS = 300


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "monday.db"


def open_sqlite(path: Path, volume: str = "local") -> SqliteStore:
    return cast(SqliteStore, open_store(f"sqlite:///{path}?volume={volume}"))


def filled(store: SqliteStore) -> SqliteStore:
    store.insert_many([pending_job(payload='{"a":"' + "x" * 500 + '"}') for _ in range(JOBS)])
    return store


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def read(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute(query)]


def test_a_copy_holds_every_job_with_all_that_belongs_to_it(
    store: SqliteStore, target: Path
) -> None:
    for _ in range(4):
        insert(store, payload='{"a":"\\u0000😀"}')
    complete(store, claim_one(store), result="[1]")
    fail(store, claim_one(store), error="text")
    claim_one(store)

    store.backup(target)

    copy = open_sqlite(target)
    assert [copy.get(number) for number in range(1, 6)] == [
        store.get(number) for number in range(1, 6)
    ]
    assert copy.get_with_errors(2) == store.get_with_errors(2)
    assert copy.stats(0, None) == store.stats(0, None)
    copy.close()


@pytest.mark.parametrize("volume", ["local", "network"])
def test_a_backup_while_four_processes_write_is_whole_and_of_one_instant(
    tmp_path: Path, target: Path, volume: str
) -> None:
    source = tmp_path / "queuelog.db"
    url = f"sqlite:///{source}?volume={volume}"
    store = filled(open_sqlite(source, volume))
    with writers(url) as acknowledged:
        while sum(counter.value for counter in acknowledged) < 100:
            until_free(partial(insert, store))
        before = [counter.value for counter in acknowledged]
        until_free(partial(store.backup, target))
        after = [counter.value for counter in acknowledged]

    assert_is_whole(target)
    for number, (least, most) in enumerate(zip(before, after, strict=True)):
        query = "SELECT CAST(substr(idempotency_key, 3) AS INTEGER) FROM jobs"
        copied = read(target, f"{query} WHERE idempotency_key LIKE '{number}-%' ORDER BY id")
        assert copied == list(range(len(copied)))
        # One more may be stored and its answer on the way.
        assert least <= len(copied) <= most + 1
    newest = max(read(target, "SELECT id FROM jobs"))
    copy = open_sqlite(target)
    assert insert(copy).id > newest
    for opened in (copy, store):
        opened.close()


def assert_is_whole(copy: Path) -> None:
    assert files(copy.parent) == [copy.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.read_bytes()[18:20] == b"\1\1", "it is not in WAL mode"
    assert read(copy, "PRAGMA integrity_check") == ["ok"]
    file = open_sqlite(copy, "network")
    assert file.check() == []
    file.close()


@pytest.mark.parametrize("volume", ["local", "network"])
def test_a_copy_opens_as_a_store_and_gives_out_no_id_twice(
    store: SqliteStore, target: Path, volume: str
) -> None:
    for _ in range(4):
        insert(store)
        complete(store, claim_one(store))
    store.purge(NOON + 1, 3)
    store.backup(target)

    copy = open_sqlite(target, volume)
    assert copy.purge(NOON + 1, 10) == 1

    assert insert(copy).id == 5
    assert claim_one(copy).id == 5
    assert copy.check() == []
    copy.close()


def test_the_original_goes_on_after_a_backup(store: SqliteStore, target: Path) -> None:
    insert(store)

    store.backup(target)

    assert insert(store).id == 2
    assert read(target, "SELECT id FROM jobs") == [1]


@pytest.mark.parametrize("name", ["monday.db", "monday.db.new"])
def test_a_file_that_is_in_the_way_is_refused_by_name_and_untouched(
    store: SqliteStore, target: Path, name: str
) -> None:
    (target.parent / name).write_text("mine")

    with pytest.raises(ConfigError, match=f"{name} exists"):
        store.backup(target)

    assert files(target.parent) == [name]
    assert (target.parent / name).read_text() == "mine"


def test_a_store_is_never_backed_up_over_itself(store: SqliteStore, tmp_path: Path) -> None:
    job = insert(store)

    with pytest.raises(ConfigError, match="exists"):
        store.backup(tmp_path / "queuelog.db")

    assert store.get(job.id) == job
