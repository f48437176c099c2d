"""The scene of every test of the worker."""

import pytest

from queuelog_core.worker import worker as worker_module
from tests.support.http import Api
from tests.worker.scene import Scene


@pytest.fixture
def scene(api: Api, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(api)
    monkeypatch.setattr(worker_module, "Bell", scene.bell)
    monkeypatch.setattr(worker_module, "TICK_SECONDS", 0.01)
    return scene
