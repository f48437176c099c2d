"""A worker that stands still for longer than its lease: a frozen function, a paused machine, a
laptop that sleeps. When it wakes up, it is not the job's worker any more."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.identity import Role
from tests.support.servers import (
    COMMAND,
    Server,
    environment,
    eventually,
    make_key,
    running,
    serving,
)

LEASE_SECONDS = 2
FROZEN_SECONDS = 3 * LEASE_SECONDS
NAPS = {"the handler has ended": 1, "the handler goes on": FROZEN_SECONDS + 3}
"""How long a handler takes, by what it does when its worker wakes up."""
TYPES = f"[types.nap]\nlease_seconds = {LEASE_SECONDS}\nmax_retries = 5\n"
PROGRAM = """
import json, sys, time
from pathlib import Path

from queuelog_core.drain import drain_with
from queuelog_core.worker import Worker

def nap(job):
    with Path("naps").open("a") as file:
        file.write(f"{job.id} {job.attempt}\\n")
    time.sleep(job.payload["seconds"] if job.attempt == 1 else 0)
    return {"attempt": job.attempt}

if __name__ == "__main__":
    print(json.dumps(drain_with(lambda folder, **places: {"nap": nap})({}, None)))
else:
    worker = Worker(poll_seconds_max=0.2)
    worker.handler("nap", timeout=30)(nap)
"""
KINDS = {
    "work": [str(COMMAND), "work", "naps_here:worker"],
    "drain": [sys.executable, "naps_here.py"],
}
NOT_MINE = {"lease-lost", "report-not-taken"}


class Site:
    """A server with a short lease, and workers beside it."""

    def __init__(self, folder: Path, server: Server, key: str) -> None:
        self.folder = folder
        self.server = server
        self.key = key

    @contextmanager
    def worker(self, kind: str) -> Iterator[Server]:
        env = environment(
            QUEUELOG_URL=self.server.url,
            QUEUELOG_API_KEY=self.key,
            QUEUELOG_DRAIN_SECONDS="600",
            QUEUELOG_DRAIN_JOB_SECONDS="30",
        )
        with running(KINDS[kind], self.folder, env) as process:
            yield process

    def enqueue(self, seconds: float) -> int:
        return int(self.server.enqueue(self.key, type="nap", payload={"seconds": seconds})["id"])

    def completed(self, job_id: int) -> Any:
        return self.server.job_once(self.key, job_id, "completed")

    def naps(self) -> list[str]:
        path = self.folder / "naps"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "types.toml").write_text(TYPES)
    (tmp_path / "naps_here.py").write_text(PROGRAM)
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path, QUEUELOG_JOB_TYPES=str(tmp_path / "types.toml")) as server:
        yield Site(tmp_path, server, key)


def told_of_the_loss(process: Server) -> list[str]:
    """The lines of a worker's log that say that a job is no longer its own."""
    return [line for line in process.log.splitlines() if any(name in line for name in NOT_MINE)]


@pytest.mark.parametrize("awake", NAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_was_frozen_drops_the_job_logs_it_once_and_goes_on(
    site: Site, kind: str, awake: str
) -> None:
    """B28: it woke up and believed that it still owned the lease."""
    job_id = site.enqueue(NAPS[awake])
    with site.worker(kind) as frozen:
        eventually(lambda: site.naps() == [f"{job_id} 1"], "the handler has begun")
        frozen.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        with site.worker("work") as other:
            done = site.completed(job_id)
            assert other.stop() == 0
        another = site.enqueue(0)

        frozen.send_signal(signal.SIGCONT)

        went_on = site.completed(another)
        if kind == "drain":
            assert frozen.process.wait(30) == 0
            told = {"completed": 1, "failed": 0, "released": 0, "lost": 1}
            assert json.loads(frozen.out) == told
        else:
            assert frozen.stop() == 0

    assert site.naps() == [f"{job_id} 1", f"{job_id} 2", f"{another} 1"]
    assert (done["result"], went_on["result"]) == ({"attempt": 2}, {"attempt": 1})
    assert site.server.job(site.key, job_id) == done, "the late report changed something"
    assert len(told_of_the_loss(frozen)) == 1
    assert "Traceback" not in frozen.log
