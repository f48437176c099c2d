"""Which engines a test runs on: every one that its store may be."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from queuelog_core.stores import Store, open_store
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.dynamodb import CREDENTIALS, Engine

SUITES = {"http": ["sqlite"], "stores": ["local", "network"]}
"""The folders whose tests hold every store, and the ways to open SQLite that they try."""


def engines_of(metafunc: pytest.Metafunc) -> list[str]:
    """What `engine` is in turn: all of them, unless the test is about the SQLite file."""
    own = SUITES.get(metafunc.definition.path.parent.name)
    if own is None:
        return ["sqlite"]
    about_the_file = {*metafunc.function.__annotations__.values()} & {SqliteStore}
    uses_the_file = "tmp_path" in metafunc.fixturenames
    chosen = os.environ.get("QUEUELOG_ENGINES", "").split(",")
    others = [] if about_the_file or uses_the_file else ["moto", "dynalite"]
    if "store_url" in metafunc.fixturenames:
        # moto is in one process only.
        own, others = ["local", "network"], ["dynalite"]
    return [name for name in [*own, *others] if name in chosen or chosen == [""]]


def counts_exactly(store: Store) -> bool:
    """Whether the numbers of a store are exact; docs/stores.md tells why not on DynamoDB."""
    return isinstance(store, SqliteStore)


def gives_in_order(store: Store) -> bool:
    """Whether callers that crowd are given the jobs in their order all the same; on DynamoDB they
    pick among the first few."""
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
