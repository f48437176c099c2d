"""A disk that is full: told as such, read from all the while, and used again once there is room."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.identity import Role
from tests.support.faults_disk import Disk, size_limit, tiny_disk, try_to_serve
from tests.support.servers import Server, make_key, queuelog, serving

MODES = ("local", "network")
JOBS_MAX = 200


def body(number: int) -> dict[str, Any]:
    return {"type": "email", "idempotency_key": f"k{number}", "payload": {"text": "x" * 20_000}}


def enqueue_until_refused(server: Server, key: str) -> int:
    """How many were acknowledged before the first refusal."""
    for number in range(JOBS_MAX):
        answer = server.call("POST", "/jobs", key, body(number))
        if answer.status != 201:
            assert (answer.status, answer.json["code"]) == (503, "store-unavailable")
            assert 1 <= int(answer.headers["Retry-After"]) <= 20
            return number
    raise AssertionError("the disk is never full")


def keys_of_jobs(server: Server, key: str) -> list[str]:
    answer = server.call("GET", "/jobs?limit=200", key)
    assert answer.status == 200, answer.text
    return sorted(job["idempotency_key"] for job in answer.json["jobs"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("disk", [tiny_disk, size_limit])
def test_a_full_disk_is_told_and_used_again_once_there_is_room(
    tmp_path: Path, disk: Callable[[Path], AbstractContextManager[Disk]], mode: str
) -> None:
    """B55."""
    key = make_key(tmp_path, "shop", Role.ADMIN)
    url = f"sqlite:///{tmp_path}/disk/queuelog.db?volume={mode}"
    with disk(tmp_path / "disk") as room:
        with serving(tmp_path, "--no-upkeep", QUEUELOG_STORE=url) as server:
            first = server.enqueue(key, **body(JOBS_MAX))
            room.fill(server.process.pid)

            stored = enqueue_until_refused(server, key)

            seen = keys_of_jobs(server, key)
            assert server.job(key, first["id"])["payload"] == body(0)["payload"]
            assert server.call("GET", "/stats", key).status == 200
            refused = [server.call("POST", "/jobs", key, body(stored)).status for _ in range(3)]

            room.make_room(server.process.pid)
            repeated = server.call("POST", "/jobs", key, body(stored))

            acknowledged = sorted(f"k{number}" for number in [*range(stored), JOBS_MAX])
            assert set(acknowledged) <= set(seen) <= {*acknowledged, f"k{stored}"}
            assert refused == [503] * 3
            assert repeated.status in (200, 201)
            assert keys_of_jobs(server, key) == sorted([*acknowledged, f"k{stored}"])
            assert server.call("POST", "/jobs/claim", key, {}).status == 200
            lines = [json.loads(line) for line in server.log.splitlines()]
        assert queuelog(tmp_path, "db", "check", QUEUELOG_STORE=url).stdout == "ok\n"
    causes = [line["cause"] for line in lines if line["event"] == "store-error"]
    assert len(causes) == len(refused) + 1
    assert all(cause.startswith(f"{tmp_path}/disk/queuelog.db: the disk ") for cause in causes)


@pytest.mark.parametrize("mode", MODES)
def test_where_nothing_fits_no_server_starts_and_with_room_it_does(
    tmp_path: Path, mode: str
) -> None:
    key = make_key(tmp_path, "shop", Role.ADMIN)
    url = f"sqlite:///.queuelog/queuelog.db?volume={mode}"

    refused = try_to_serve(tmp_path, url, largest=8192)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("error: the store cannot be used: ")
    assert f"{tmp_path}/.queuelog/queuelog.db: the disk " in refused.stderr
    with serving(tmp_path, QUEUELOG_STORE=url) as server:
        server.enqueue(key, **body(0))
