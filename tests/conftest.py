"""Fixtures for every suite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.stores import Store, open_store
from tests.support.factories import FakeClock
from tests.support.http import Api


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
