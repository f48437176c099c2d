"""Fixtures for every suite."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from queuelog_core.stores import Store
from tests.support.dynamodb import Engine, dynalite, ministack, moto
from tests.support.engines import engines_of, opened, url_of, with_credentials
from tests.support.factories import FakeClock
from tests.support.http import Api

MEASURED = {"unit", "stores", "http", "client", "worker", "functions"}
"""The folders whose tests the coverage is that of; tracing makes a test half as slow again."""

# Tests that run in the background are told to ignore Ctrl-C, and what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class ByFile(LoadFileScheduling):
    """The tests of a file stay together, and those of all fronts: each front is started once."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "fronts" if file.startswith("tests/fronts/") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.parent.name not in MEASURED:
        item.add_marker("without_coverage")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", engines_of(metafunc))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def aws_credentials() -> Iterator[None]:
    with with_credentials():
        yield


def in_a_process(start: Callable[[Path], AbstractContextManager[Engine]]) -> Any:
    """A fixture of an engine that is started once."""

    @pytest.fixture(scope="session", name=f"{start.__name__}_engine")
    def started(
        aws_credentials: None, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Engine]:
        with start(tmp_path_factory.mktemp(start.__name__)) as engine:
            yield engine

    return started


dynalite_engine = in_a_process(dynalite)
ministack_engine = in_a_process(ministack)


@pytest.fixture(scope="module")
def moto_engine(aws_credentials: None) -> Iterator[Engine]:
    with moto() as engine:
        yield engine


@pytest.fixture
def store(engine: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A new and empty store of the engine that is tried."""
    with opened(engine, request) as store:
        yield store


@pytest.fixture
def store_url(engine: str, request: pytest.FixtureRequest) -> str:
    """The address of a new store, for processes."""
    return url_of(engine, request)


@pytest.fixture
def api(store: Store, clock: FakeClock) -> Api:
    return Api(store, clock)
