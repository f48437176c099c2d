"""One application a group of routes, over one store, called with events."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queuelog_core.http.app import create_app
from queuelog_core.http.lambda_adapter import handle, identify
from queuelog_core.http.routes import routes_of
from queuelog_core.queue import Queue
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import plain_types

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
