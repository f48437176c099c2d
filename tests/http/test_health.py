"""GET /health: a probe that really writes, at most once in ten seconds."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from queuelog_core.errors import StoreBusy, StoreUnavailable
from queuelog_core.http import app as app_module
from queuelog_core.probe import Probe
from queuelog_core.stores import Store
from tests.support.engines import probes
from tests.support.factories import FakeClock
from tests.support.http import Api, failing, json_of


class Seconds:
    """What the probe takes for the time."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    seconds = Seconds()
    monkeypatch.setattr(app_module, "Probe", partial(Probe, monotonic=seconds))
    return seconds


def test_health_needs_no_key(api: Api) -> None:
    reply = api.call("GET", "/health", None)

    assert reply.status_code == 200
    assert json_of(reply) == {"status": "ok", "age_seconds": 0}


def test_the_probe_is_a_committed_update(api: Api) -> None:
    before = probes(api.store)

    api.call("GET", "/health", None)

    assert probes(api.store) == before + 1


def test_the_probe_runs_once_in_ten_seconds(
    seconds: Seconds, store: Store, clock: FakeClock
) -> None:
    api = Api(store, clock)
    told = []

    for at in (0.0, 0.0, 3.5, 9.9, 10.0, 19.9, 20.0):
        seconds.now = 1000.0 + at
        told.append((json_of(api.call("GET", "/health", None))["age_seconds"], probes(store)))

    assert told == [(0, 1), (0, 1), (3, 1), (9, 1), (0, 2), (9, 2), (0, 3)]


@pytest.mark.parametrize("error", [StoreBusy("x"), StoreUnavailable("/mnt/efs is gone")])
def test_a_store_that_takes_no_writes_is_told(
    seconds: Seconds, store: Store, clock: FakeClock, error: Exception
) -> None:
    """B56."""
    api = Api(failing(store, error, "check_writable"), clock)
    api.call("GET", "/health", None)
    seconds.now += 4

    reply = api.call("GET", "/health", None)

    assert reply.status_code == 503
    assert json_of(reply) == {"status": "unavailable", "age_seconds": 4}
    assert 1 <= int(reply.headers["Retry-After"]) <= 20


def test_a_store_that_is_busy_for_a_second_is_told(api: Api, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "queuelog.db", isolation_level=None)
    with closing(other):
        other.execute("BEGIN IMMEDIATE")

        reply = api.call("GET", "/health", None)

    assert reply.status_code == 503
    assert json_of(reply)["status"] == "unavailable"


def test_reads_go_on_while_the_store_takes_no_writes(store: Store, clock: FakeClock) -> None:
    """B56."""
    Api(store, clock).enqueue()
    writes = ("check_writable", "insert", "insert_many", "claim", "update")
    api = Api(failing(store, StoreUnavailable("read-only"), *writes), clock)

    statuses = [api.call("GET", path).status_code for path in ("/health", "/jobs/1", "/jobs")]

    assert statuses == [503, 200, 200]
