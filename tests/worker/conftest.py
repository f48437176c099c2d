"""The scene of every test of the worker."""

from collections.abc import Iterator

import pytest

from queuelog_core.testing import LocalQueue
from queuelog_core.worker import run as run_module
from queuelog_core.worker import worker as worker_module
from tests.support.http import Api
from tests.worker.scene import Scene, Seen


@pytest.fixture
def scene(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    scene = Scene(api)
    monkeypatch.setattr(worker_module, "Bell", scene.bell)
    monkeypatch.setattr(run_module, "TICK_SECONDS", 0.01)
    yield scene
    scene.wire.cut()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.delenv("QUEUELOG_URL", raising=False)
    monkeypatch.delenv("QUEUELOG_API_KEY", raising=False)
    return Seen()


@pytest.fixture
def queue(seen: Seen) -> Iterator[LocalQueue]:
    with LocalQueue(seen.worker) as queue:
        yield queue
