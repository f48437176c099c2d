"""One application a group of routes, over one store, called with events."""

import functools
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queuelog_core import maintain
from queuelog_core.bootstrap import open_queue
from queuelog_core.config import load_config
from queuelog_core.http.app import create_app
from queuelog_core.http.lambda_adapter import handle, identify
from queuelog_core.http.routes import routes_of
from queuelog_core.queue import Queue
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import ROOT, plain_types

Invoke = Callable[[str, Any], Any]


@pytest.fixture
def queue(store: Store, clock: FakeClock) -> Queue:
    return Queue(store, plain_types(), clock, random=lambda: 0.0)


@pytest.fixture
def invoke(queue: Queue) -> Invoke:
    """Call the function of a group; what it returns must be something the gateway can send."""

    def invoke(group: str, event: Any) -> Any:
        app = create_app(queue, identify, routes_of(group))
        reply = json.loads(json.dumps(handle(lambda: app, event, None)))
        assert isinstance(reply["statusCode"], int)
        return reply

    return invoke


@pytest.fixture
def quiet_logging() -> Iterator[None]:
    """A function sets the process's logging up as its own; the next test gets it back."""
    root, own = logging.getLogger(), logging.getLogger("queuelog_core")
    handlers, levels = root.handlers[:], (root.level, own.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quiet_logging: None) -> None:
    """The settings of a deployment's upkeep."""
    monkeypatch.setenv("QUEUELOG_STORE", f"sqlite:///{tmp_path}/deployed.db")
    monkeypatch.setenv("QUEUELOG_JOB_TYPES", str(ROOT / "infra" / "job_types.toml"))
    monkeypatch.setenv("QUEUELOG_BACKUPS", str(tmp_path / "kept" / "backups"))
    monkeypatch.setenv("QUEUELOG_STAGE", "prod")
    monkeypatch.setenv("QUEUELOG_LOG_LEVEL", "INFO")
    monkeypatch.delenv("QUEUELOG_RETENTION_DAYS", raising=False)


@pytest.fixture
def deployed_queue(
    deployed: None, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> Iterator[Queue]:
    """The store as the upkeep has opened it, with a clock that a test moves."""
    queue = open_queue(load_config())
    queue = Queue(queue.store, queue.job_types, clock, random=lambda: 0.0)
    monkeypatch.setattr(maintain, "_start", lambda: None)
    monkeypatch.setattr(maintain, "_queue", functools.cache(lambda: queue))
    yield queue
    queue.store.close()
