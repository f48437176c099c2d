"""Which engines a test runs on: every one that its store may be.

QUEUELOG_ENGINES=all tries the stores and the HTTP contract on moto, too, which is much slower than
dynalite.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from queuelog_core.stores import Store, open_store
from queuelog_core.stores.dynamodb import PROBE, DynamoDBStore
from queuelog_core.stores.dynamodb_client import number_in
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.dynamodb import CREDENTIALS, Engine

FILES = {"http": ("sqlite",), "stores": ("local", "network")}
"""The folders whose tests hold every store, and the ways to open SQLite that they try."""
ALL = os.environ.get("QUEUELOG_ENGINES") == "all"
DYNAMODB = ("dynalite", "moto") if ALL else ("dynalite",)


def engines_of(metafunc: pytest.Metafunc) -> Sequence[Any]:
    """What `engine` is in turn: all of them, unless the test is about the SQLite file."""
    folder = metafunc.definition.path.parent.name
    files = FILES.get(folder, ("sqlite",))
    about_the_file = {*metafunc.function.__annotations__.values()} & {SqliteStore}
    if about_the_file or folder not in FILES or "tmp_path" in metafunc.fixturenames:
        return files
    if "store_url" in metafunc.fixturenames:
        # moto is in one process only.
        return (*FILES["stores"], "dynalite")
    # Coverage is that of the stores' own tests; traced here as well they take half as long again.
    marks = [pytest.mark.without_coverage] if folder == "http" else []
    return (*files, *(pytest.param(name, marks=marks) for name in DYNAMODB))


def contents(store: Store) -> list[str]:
    """All that a store holds, but for its numbers."""
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store._file.path)) as connection:
            return [line for line in connection.iterdump() if "'late_reports'" not in line]
    assert isinstance(store, DynamoDBStore)
    scanned = store._table._call("scan", ConsistentRead=True)
    assert "LastEvaluatedKey" not in scanned
    found = [item for item in scanned["Items"] if item["pk"]["S"][0] != "S"]
    return sorted(json.dumps(item, sort_keys=True, default=str) for item in found)


def probes(store: Store) -> int:
    """How often a store was asked to commit a write."""
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store._file.path)) as connection:
            count: int = connection.execute("SELECT count FROM probes").fetchone()[0]
            return count
    assert isinstance(store, DynamoDBStore)
    return number_in(store._table.get(PROBE) or {}, "n")


def counts_exactly(store: Store) -> bool:
    """Whether the numbers of a store are exact; docs/stores.md tells why not on DynamoDB."""
    return isinstance(store, SqliteStore)


def gives_in_order(store: Store) -> bool:
    """Whether callers that crowd are given the jobs in their order all the same; on DynamoDB they
    pick among the first few."""
    return isinstance(store, SqliteStore)


def numbers_without_gaps(store: Store) -> bool:
    """Whether ids are 1, 2, 3; on DynamoDB a repeat that comes second may use one up."""
    return isinstance(store, SqliteStore)


@contextmanager
def opened(name: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A new and empty store of an engine."""
    if name in ("moto", "dynalite"):
        engine: Engine = request.getfixturevalue(f"{name}_engine")
        store: Store = engine.open_new()
        yield store
        store.close()
        return
    store = open_store(url_of(name, request))
    yield store
    store.close()


def url_of(name: str, request: pytest.FixtureRequest) -> str:
    """The address of a new and empty store."""
    if name == "dynalite":
        engine: Engine = request.getfixturevalue("dynalite_engine")
        return engine.url(engine.make_table())
    volume = "" if name == "sqlite" else f"?volume={name}"
    # Asked for only here, so that a test that looks into the folder itself is known by that.
    return f"sqlite:///{request.getfixturevalue('tmp_path')}/queuelog.db{volume}"


@contextmanager
def with_credentials() -> Iterator[None]:
    """For boto3 here and in the processes that start from here."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in CREDENTIALS.items():
            patch.setenv(variable, value)
        yield
