"""Fixtures for every suite."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from queuelog_core.stores import Store, open_store
from tests.support.factories import FakeClock
from tests.support.http import Api

# Tests that run in the background are told to ignore Ctrl-C, and what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class ByFile(LoadFileScheduling):
    """The tests of a file stay together, and those of all fronts: each front is started once."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "fronts" if file.startswith("tests/fronts/") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The fast engine on a local file."""
    store = open_store(f"sqlite:///{tmp_path}/queuelog.db")
    yield store
    store.close()


@pytest.fixture
def api(store: Store, clock: FakeClock) -> Api:
    return Api(store, clock)
