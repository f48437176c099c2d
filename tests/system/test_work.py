"""`queuelog work` as a process of its own, stopped and killed in the middle of jobs."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.identity import Role
from tests.support.servers import COMMAND, Server, environment, eventually, make_key, serving

LEASE_SECONDS = 2
TYPES = f"[types.nap]\nlease_seconds = {LEASE_SECONDS}\nmax_retries = 5\n"
WORKERS = """
import time
from pathlib import Path

from queuelog_core.worker import Worker

def napper(grace_seconds):
    worker = Worker(concurrency=3, grace_seconds=grace_seconds, poll_seconds_max=0.2)

    @worker.handler("nap")
    def nap(job):
        with Path("naps").open("a") as file:
            file.write(f"{job.id} {job.attempt}\\n")
        time.sleep(job.payload["seconds"])
        return {"attempt": job.attempt}

    return worker

patient, hasty = napper(30), napper(0.1)
"""


class Site:
    """A server with a short lease, and workers beside it."""

    def __init__(self, folder: Path, server: Server, key: str) -> None:
        self.folder = folder
        self.server = server
        self.key = key

    @contextmanager
    def worker(self, name: str, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
        settings = {"QUEUELOG_URL": self.server.url, "QUEUELOG_API_KEY": self.key}
        command = [str(COMMAND), "work", f"naps_here:{name}", *options]
        process = subprocess.Popen(command, cwd=self.folder, env=environment(**settings))
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """While inside, the server takes connections and answers nothing."""
        self.server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.send_signal(signal.SIGCONT)
            self.server.wait_until_ready()

    def enqueue(self, seconds: float) -> int:
        return int(self.server.enqueue(self.key, type="nap", payload={"seconds": seconds})["id"])

    def job_once(self, job_id: int, status: str) -> Any:
        return self.server.job_once(self.key, job_id, status)

    def naps(self) -> list[str]:
        path = self.folder / "naps"
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_naps(self, number: int) -> None:
        eventually(lambda: len(self.naps()) >= number, f"{number} handlers have begun")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "types.toml").write_text(TYPES)
    (tmp_path / "naps_here.py").write_text(WORKERS)
    key = make_key(tmp_path, "root", Role.ADMIN)
    settings = {"QUEUELOG_JOB_TYPES": str(tmp_path / "types.toml")}
    with serving(tmp_path, **settings) as server:
        yield Site(tmp_path, server, key)


def test_a_worker_that_is_killed_loses_nothing(site: Site) -> None:
    job_id = site.enqueue(1)
    with site.worker("patient") as worker:
        site.wait_for_naps(1)
        os.kill(worker.pid, signal.SIGKILL)
    with site.worker("patient"):
        job = site.job_once(job_id, "completed")

    assert site.naps() == [f"{job_id} 1", f"{job_id} 2"]
    assert (job["result"], job["retry_count"], job["attempt"]) == ({"attempt": 2}, 1, 2)


def test_a_job_longer_than_its_lease_runs_once_also_when_its_worker_is_told_to_stop(
    site: Site,
) -> None:
    """B25: heartbeats that end with the signal let a second worker run the job too."""
    job_id = site.enqueue(3 * LEASE_SECONDS)
    with site.worker("patient") as stopped:
        site.wait_for_naps(1)
        stopped.send_signal(signal.SIGTERM)
        with site.worker("patient"):
            assert stopped.wait(30) == 0
            job = site.job_once(job_id, "completed")

    assert site.naps() == [f"{job_id} 1"]
    assert (job["attempt"], job["retry_count"], job["release_count"]) == (1, 0, 0)


def test_what_does_not_end_in_the_grace_time_is_handed_back_without_a_retry(site: Site) -> None:
    """B26: else the job waits for the whole lease."""
    job_id = site.enqueue(60)
    with site.worker("hasty") as worker:
        site.wait_for_naps(1)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(15) == 0

    job = site.server.job(site.key, job_id)
    assert (job["status"], job["retry_count"], job["release_count"]) == ("pending", 0, 1)


def test_a_worker_whose_server_hangs_is_stopped_in_seconds_with_all_its_jobs(site: Site) -> None:
    for _ in range(3):
        site.enqueue(60)
    with site.worker("hasty") as worker:
        site.wait_for_naps(3)
        with site.hanging():
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(10) == 0


def test_a_third_signal_ends_a_worker_at_once(site: Site) -> None:
    site.enqueue(60)
    with site.worker("patient") as worker:
        site.wait_for_naps(1)
        with site.hanging():
            for _ in range(3):
                time.sleep(0.5)
                worker.send_signal(signal.SIGTERM)
            assert worker.wait(3) == -signal.SIGTERM


def test_a_drain_ends_when_nothing_is_due_any_more(site: Site) -> None:
    made = [site.enqueue(0) for _ in range(5)]
    with site.worker("patient", "--drain", "--budget", "5m") as worker:
        assert worker.wait(30) == 0

    assert [site.server.job(site.key, job_id)["status"] for job_id in made] == ["completed"] * 5


def test_a_module_without_a_worker_is_named_in_one_line(site: Site) -> None:
    with_settings = environment(QUEUELOG_API_KEY=site.key)
    done = subprocess.run(
        [COMMAND, "work", "nowhere:worker"],
        cwd=site.folder,
        env=with_settings,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("error: nowhere:worker: ModuleNotFoundError")
    assert done.stderr.count("\n") == 1
