"""What `queuelog work` tells of faults, in words that somebody can act on and by its exit code."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.identity import Role
from tests.support.servers import COMMAND, Server, environment, eventually, make_key, serving

MODULE = """
from queuelog_core.worker import Worker

worker, mistyped, slow = Worker(), Worker(), Worker()

@worker.handler("email", timeout=5)
def send(job):
    return len(job.payload["to"] + 1)

worker.handler("pdf", timeout=50)(lambda job: None)
mistyped.handler("emial", timeout=5)(lambda job: None)
slow.handler("email")(lambda job: None)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "mail.py").write_text(MODULE)
    return folder


@pytest.fixture(scope="module")
def keys(folder: Path) -> dict[str, str]:
    return {role.value: make_key(folder, role.value, role) for role in Role}


@pytest.fixture(scope="module")
def key(keys: dict[str, str]) -> str:
    return keys["admin"]


@pytest.fixture(scope="module")
def server(folder: Path, keys: dict[str, str]) -> Iterator[Server]:
    with serving(folder) as server:
        yield server


def work(server: Server, key: str, *arguments: str, url: str = "") -> Any:
    return subprocess.run(
        [COMMAND, "work", *arguments],
        cwd=server.folder,
        env=environment(QUEUELOG_URL=url or server.url, QUEUELOG_API_KEY=key),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


DRAIN = ("--drain", "--budget", "7s")


@pytest.mark.parametrize("how", [(), DRAIN], ids=["run", "drain"])
@pytest.mark.parametrize(
    ("name", "role", "code", "words"),
    [
        ("worker", "nobody", 4, "error: 403 forbidden; The key is unknown"),
        ("worker", "producer", 4, "error: 403 forbidden; "),
        ("mistyped", "worker", 1, "types: A type is not on the allowlist"),
    ],
    ids=["no such key", "a producer's key", "no such type"],
)
def test_what_never_works_ends_at_once_and_is_named(
    server: Server,
    keys: dict[str, str],
    how: tuple[str, ...],
    name: str,
    role: str,
    code: int,
    words: str,
) -> None:
    done = work(server, keys.get(role, role), f"mail:{name}", *how)

    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert done.stdout == ""


def test_a_drain_whose_server_is_away_fails(server: Server, key: str) -> None:
    done = work(server, key, "mail:worker", *DRAIN, url="http://127.0.0.1:9")

    assert done.returncode == 6
    assert "error: POST /jobs/claim" in done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert [line["event"] for line in lines] == ["no-answer"]


def test_a_failed_job_is_told_with_its_code_and_without_its_words(server: Server, key: str) -> None:
    job = server.enqueue(key, type="email", payload={"to": "ada"}, max_retries=0)

    done = work(server, key, "mail:worker", *DRAIN)

    assert done.returncode == 0
    (line,) = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    told = {name: line[name] for name in ("event", "job_id", "attempt", "code")}
    assert told == {"event": "job-failed", "job_id": job["id"], "attempt": 1, "code": "type_error"}
    assert "concatenate" not in done.stderr


def test_a_budget_that_no_handler_fits_is_a_usage_error(server: Server, key: str) -> None:
    done = work(server, key, "mail:slow", "--drain", "--budget", "30s")

    assert done.returncode == 2
    assert "the budget is shorter than the timeout of every handler" in done.stderr


def test_types_that_do_not_fit_the_budget_are_named(server: Server, key: str) -> None:
    done = work(server, key, "mail:worker", *DRAIN)

    assert done.returncode == 0
    assert "pdf" in done.stderr.splitlines()[1]
    assert "email" not in done.stderr.splitlines()[1]


def test_a_budget_without_a_drain_is_a_usage_error(server: Server, key: str) -> None:
    done = work(server, key, "mail:worker", "--budget", "30s")

    assert done.returncode == 2
    assert "--budget" in done.stderr and "--drain" in done.stderr


def test_one_signal_ends_a_worker_whose_server_hangs(server: Server, key: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        settings = {
            "QUEUELOG_URL": f"http://127.0.0.1:{hanging.getsockname()[1]}",
            "QUEUELOG_API_KEY": key,
        }
        process = subprocess.Popen(
            [COMMAND, "work", "mail:worker"], cwd=server.folder, env=environment(**settings)
        )
        try:
            hanging.settimeout(20)
            connection, _ = hanging.accept()
            with connection:
                eventually(lambda: connection.recv(1), "the claim is sent")
                began = time.monotonic()
                process.send_signal(signal.SIGINT)
                assert process.wait(20) == 0
                assert time.monotonic() - began < 8
        finally:
            process.kill()
            process.wait()
