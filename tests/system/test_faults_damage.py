"""A file that is ruined: refused at the start, told while it is served, and never written over."""

import os
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.identity import Role
from queuelog_core.stores import open_store
from tests.support.factories import FakeClock, pending_job
from tests.support.faults_disk import contents
from tests.support.http import Api, assert_problem
from tests.support.logs import Lines, listening
from tests.support.servers import make_key, queuelog, serving

UNAVAILABLE = "store-unavailable"
JOBS = 40
MODES = ("local", "network")
PAGE = 4096
Ruin = Callable[[Path], object]


def overwrite(path: Path, at: int, data: bytes) -> None:
    """In place: it stays the same file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


RUINS: dict[str, tuple[Ruin, str]] = {
    "cut inside a page": (lambda path: os.truncate(path, 3000), "damaged"),
    "cut between pages": (lambda path: os.truncate(path, 5 * PAGE), "damaged"),
    "garbage": (lambda path: overwrite(path, 0, b"no database " * 3000), "not an SQLite"),
    "garbage behind the header": (lambda path: overwrite(path, 100, b"\xff" * 8000), "damaged"),
}
EMPTIED: tuple[Ruin, str] = (lambda path: os.truncate(path, 0), "emptied")
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/jobs", {"type": "email", "idempotency_key": "k"}),
    ("POST", "/jobs/claim", {}),
    ("POST", "/jobs/1/cancel", None),
    ("GET", "/jobs/1", None),
    ("GET", "/jobs", None),
]


def filled(home: Path, mode: str) -> str:
    """The address of a sound file of some pages, which nobody uses."""
    home.mkdir()
    url = f"sqlite:///{home}/queuelog.db?volume={mode}"
    with closing(open_store(url)) as store:
        for _ in range(JOBS):
            store.insert(pending_job(payload='{"text":"' + "x" * 3000 + '"}'))
    return url


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("ruin", "reason"), RUINS.values(), ids=RUINS.keys())
def test_no_server_starts_on_a_ruined_file_and_it_is_left_as_it_is(
    tmp_path: Path, ruin: Ruin, reason: str, mode: str
) -> None:
    home = tmp_path / "data"
    url = filled(home, mode)
    ruin(home / "queuelog.db")
    before = contents(home)

    refused = queuelog(tmp_path, "serve", "--port", "0", QUEUELOG_STORE=url)

    assert (refused.returncode, refused.stdout) == (1, "")
    [line] = refused.stderr.splitlines()
    assert re.match(f"error: the store cannot be used: {home}/queuelog.db: .*{reason}", line)
    assert contents(home) == before


def test_an_empty_file_is_a_start_without_jobs(tmp_path: Path) -> None:
    """A server that died in its first moment leaves one."""
    key = make_key(tmp_path, "shop", Role.ADMIN)
    (tmp_path / ".queuelog" / "queuelog.db").touch()

    with serving(tmp_path) as server:
        assert server.enqueue(key, type="email")["id"] == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("ruin", "reason"), [*RUINS.values(), EMPTIED], ids=[*RUINS.keys(), "emptied"]
)
def test_a_file_in_use_that_is_ruined_is_told_and_used_again_when_it_is_whole(
    tmp_path: Path, ruin: Ruin, reason: str, mode: str
) -> None:
    """By connections that know nothing of it any more: what SQLite remembers it need not read."""
    url, path = filled(tmp_path / "data", mode), tmp_path / "data" / "queuelog.db"
    whole = path.read_bytes()
    log = Lines()
    with closing(open_store(url)) as store, listening(log):
        assert store.get(1)
        store.close()
        api = Api(store, FakeClock())
        ruin(path)
        before = path.read_bytes()

        for method, asked, body in REQUESTS:
            reply = assert_problem(api.call(method, asked, "admin", body), 503, UNAVAILABLE)
            assert log.lines[-1]["request_id"] == reply["request_id"]

        assert path.read_bytes() == before
        overwrite(path, 0, whole)
        assert api.get({"id": 1})["status"] == "pending"
        assert api.enqueue()["id"] == JOBS + 1
    assert len(log.lines) == len(REQUESTS)
    assert all(reason in line["cause"] for line in log.lines)
