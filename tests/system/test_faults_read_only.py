"""Files and folders that nobody may write to: no start on them, and no wrong answer."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from queuelog_core.stores import open_store
from tests.support.factories import pending_job
from tests.support.faults_disk import bound_by_modes, read_only, try_to_serve
from tests.support.servers import COMMAND, environment, make_key, running, serving

MODES = ("local", "network")
SERVE = [*bound_by_modes(), str(COMMAND), "serve", "--port", "0", "--no-upkeep"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", ["file", "folder"])
def test_no_server_starts_on_what_is_read_only(tmp_path: Path, what: str, mode: str) -> None:
    """B56."""
    home = tmp_path / "data"
    home.mkdir()
    url = f"sqlite:///{home}/queuelog.db?volume={mode}"
    with closing(open_store(url)) as store:
        store.insert(pending_job())
    before = (home / "queuelog.db").read_bytes()

    with read_only(home / "queuelog.db" if what == "file" else home):
        refused = try_to_serve(tmp_path, url)

    assert (refused.returncode, refused.stdout) == (1, "")
    last = refused.stderr.splitlines()[-1]
    assert last.startswith(f"error: the store cannot be used: {home}/queuelog.db: the file ")
    assert (home / "queuelog.db").read_bytes() == before
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path, QUEUELOG_STORE=url) as server:
        assert server.job(key, 1)["status"] == "pending"


@pytest.mark.parametrize("mode", MODES)
def test_what_becomes_read_only_is_read_from_and_used_again_afterwards(
    tmp_path: Path, mode: str
) -> None:
    """B56. What is open already may still be written to; then the answer says so and is true."""
    home = tmp_path / "data"
    home.mkdir()
    key = make_key(tmp_path, "shop", Role.ADMIN)
    env = environment(QUEUELOG_STORE=f"sqlite:///{home}/queuelog.db?volume={mode}")
    with running(SERVE, tmp_path, env) as server:
        server.wait_until_ready()
        server.enqueue(key, type="email", idempotency_key="first")
        with read_only(home / "queuelog.db", home):
            keys = [f"k{number}" for number in range(20)]
            bodies = [{"type": "email", "idempotency_key": each} for each in keys]
            answers = [server.call("POST", "/jobs", key, body) for body in bodies]
            reads = [server.call("GET", path, key).status for path in ("/jobs", "/jobs/1")]

        repeated = [server.call("POST", "/jobs", key, body) for body in bodies]

        jobs = server.call("GET", "/jobs", key).json["jobs"]
        lines = [json.loads(line) for line in server.log.splitlines()]
    refused = [answer for answer in answers if answer.status != 201]
    assert {(answer.status, answer.json["code"]) for answer in refused} <= {
        (503, "store-unavailable")
    }
    assert refused
    assert reads == [200, 200]
    for answer, again in zip(answers, repeated, strict=True):
        assert again.status == (200 if answer.status == 201 else 201)
        assert answer.status != 201 or again.json["id"] == answer.json["id"]
    assert sorted(job["idempotency_key"] for job in jobs) == sorted(["first", *keys])
    causes = [line for line in lines if line["event"] == "store-error"]
    assert len(causes) == len(refused)
