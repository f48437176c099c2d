"""A server that is killed around its commit never leaves a key that is taken for good."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.job import Job
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import thread_connection
from tests.support.factories import FakeClock
from tests.support.http import Api, json_of
from tests.support.processes import exit_code_of


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DiesAfterTheCommit(SqliteStore):
    def insert(self, job: Job) -> tuple[Job, bool]:
        super().insert(job)
        die()
        raise AssertionError


class DiesBeforeTheCommit(SqliteStore):
    def insert(self, job: Job) -> tuple[Job, bool]:
        connection = thread_connection(self)
        connection.set_trace_callback(lambda sent: die() if sent == "COMMIT" else None)
        return super().insert(job)


def send(store: SqliteStore, form: str) -> Any:
    api = Api(store, FakeClock())
    if form == "header":
        headers = {"Idempotency-Key": "k"}
        return api.call("POST", "/jobs", "producer", {"type": "email"}, headers=headers)
    return api.call("POST", "/jobs", "producer", {"type": "email", "idempotency_key": "k"})


def serve(make: Callable[[Path], SqliteStore], path: Path, form: str) -> None:
    send(make(path), form)


@pytest.mark.parametrize("form", ["header", "field"])
@pytest.mark.parametrize(
    ("make", "status"), [(DiesAfterTheCommit, 200), (DiesBeforeTheCommit, 201)]
)
def test_a_key_whose_answer_was_lost_in_a_kill_finds_or_makes_its_one_job(
    tmp_path: Path, make: Callable[[Path], SqliteStore], status: int, form: str
) -> None:
    """B35: no reservation outlives its server, so no repeat is refused for ever."""
    path = tmp_path / "queuelog.db"
    assert exit_code_of(serve, make, path, form) == -signal.SIGKILL

    store = SqliteStore(path)
    first = send(store, form)
    again = send(store, form)

    assert first.status_code == status
    assert again.status_code == 200
    assert json_of(first)["id"] == json_of(again)["id"] == 1
    assert store.get(2) is None
