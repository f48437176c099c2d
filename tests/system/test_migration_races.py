"""Eight processes that open one file at once, hundreds of times: a fresh one, or one of an older
version. One of them brings it to today's schema, and all of them work with it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from queuelog_core.stores import open_store
from queuelog_core.stores import sqlite_steps as steps
from queuelog_core.stores.operators import open_file
from queuelog_core.stores.sqlite_schema import APPLICATION_ID, migrations
from tests.support.factories import NOON, FakeClock, pending_job
from tests.support.processes import until_free
from tests.support.races import RACERS, ROUNDS, Racers, Round, racers, split_of
from tests.support.seeds import seed
from tests.support.stores import insert

OLD_JOBS = 3
SHARES = {"local": 5, "network": 1}
"""Tenths of the rounds, for fresh and for old files each; on a network volume a collision costs a
pause of up to 80 ms."""


@contextmanager
def files_at(url: str, clock: FakeClock) -> Iterator[str]:
    """The address of every round's own file: nobody has opened it before its round."""
    yield url


def open_and_work(url: str, each: Round) -> str:
    store = until_free(partial(open_store, url.format(each.number)))
    made = until_free(partial(insert, store))
    found = until_free(partial(store.get, made.id))
    store.close()
    return "works" if found == made else "lost its job"


def old_file(path: Path) -> None:
    """A file of the first version, with jobs in it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in migrations()[0]:
            connection.execute(statement)
        for _ in range(OLD_JOBS):
            steps.insert(connection, pending_job())
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("PRAGMA user_version=1")


def shape(path: Path) -> list[object]:
    """The schema, and how often it was changed: twice as often if two made it."""
    with closing(sqlite3.connect(path)) as connection:
        facts = ("user_version", "application_id", "schema_version", "journal_mode")
        pragmas = [connection.execute(f"PRAGMA {name}").fetchone() for name in facts]
        return [*pragmas, *connection.execute("SELECT type, name, sql FROM sqlite_schema")]


@pytest.fixture(scope="module")
def crew() -> Iterator[Racers]:
    with racers() as started:
        yield started


@pytest.mark.parametrize("volume", SHARES)
@pytest.mark.parametrize("jobs", [0, OLD_JOBS], ids=["fresh", "old"])
def test_of_eight_processes_that_open_a_file_at_once_one_brings_it_to_todays_schema(
    tmp_path: Path, crew: Racers, jobs: int, volume: str
) -> None:
    """B52, B54."""
    url = f"sqlite:///{tmp_path}/{{}}.db?volume={volume}"
    rounds = [Round(number, NOON) for number in range(max(1, ROUNDS * SHARES[volume] // 10))]
    if jobs:
        old_file(tmp_path / "alone.db")
        for each in rounds:
            shutil.copy(tmp_path / "alone.db", tmp_path / f"{each.number}.db")
    open_store(url.format("alone")).close()

    told = crew.race(partial(files_at, url), rounds, seed(), *[open_and_work] * RACERS)

    split = split_of(f"migrate {volume}, {jobs} old jobs", told)
    assert set(split) == {("works",) * RACERS}
    alone = shape(tmp_path / "alone.db")
    for each in rounds:
        path = tmp_path / f"{each.number}.db"
        assert shape(path) == alone
        assert open_file(url.format(each.number)).check() == []
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (jobs + RACERS,)
