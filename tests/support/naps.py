"""A server with a short lease, and workers beside it whose handler only takes its time."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from queuelog_core.identity import Role
from tests.support.servers import COMMAND, Server, environment, make_key, running, serving

LEASE_SECONDS = 2
_TYPES = f"[types.nap]\nlease_seconds = {LEASE_SECONDS}\nmax_retries = 25\n"
# The nap of a later attempt takes no time: whoever takes a job over is done with it at once.
_PROGRAM = """
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
_NOT_MINE = {"lease-lost", "report-not-taken"}


class Site(NamedTuple):
    """A server, and workers that all have one and the same key."""

    folder: Path
    server: Server
    key: str

    @contextmanager
    def worker(self, kind: str, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
        env = environment(
            QUEUELOG_URL=self.server.url,
            QUEUELOG_API_KEY=self.key,
            QUEUELOG_DRAIN_SECONDS="600",
            QUEUELOG_DRAIN_JOB_SECONDS="30",
            **(settings or {}),
        )
        with running(KINDS[kind], self.folder, env) as process:
            yield process

    def enqueue(self, seconds: float) -> int:
        return int(self.server.enqueue(self.key, type="nap", payload={"seconds": seconds})["id"])

    def completed(self, job_id: int) -> Any:
        return self.server.job_once(self.key, job_id, "completed")

    def outcomes(self, job_id: int) -> list[str]:
        """How the attempts of a job ended."""
        answer = self.server.call("GET", f"/jobs/{job_id}/attempts", self.key)
        return [entry["outcome"] for entry in answer.json["attempts"]]

    def naps(self) -> list[str]:
        """Job and attempt of every nap that began."""
        path = self.folder / "naps"
        return path.read_text().splitlines() if path.exists() else []


@contextmanager
def nap_site(folder: Path, *options: str, **settings: str) -> Iterator[Site]:
    """A site; `options` and `settings` are the server's."""
    (folder / "types.toml").write_text(_TYPES)
    (folder / "naps_here.py").write_text(_PROGRAM)
    key = make_key(folder, "root", Role.ADMIN)
    types = str(folder / "types.toml")
    with serving(folder, *options, QUEUELOG_JOB_TYPES=types, **settings) as server:
        yield Site(folder, server, key)


def told_of_the_loss(process: Server) -> list[str]:
    """The lines of a worker's log that say that a job is no longer its own."""
    return [line for line in process.log.splitlines() if any(name in line for name in _NOT_MINE)]
