"""Every engine, and every way to open it, runs the same suite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.stores import Store, open_store


@pytest.fixture(params=["local", "network"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """SQLite on a local disk, and as on a network volume: DELETE mode, every access guarded."""
    store = open_store(f"sqlite:///{tmp_path}/queuelog.db?volume={request.param}")
    yield store
    store.close()
