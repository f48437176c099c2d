"""Worker processes that are restarted one after another, each under a name and a key of its own."""

import itertools
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

from queuelog_core.identity import Role
from tests.support.servers import COMMAND, STOP_SECONDS, environment, eventually, make_key

# The grace of the patient is longer than any job, that of the hasty shorter than some.
_WORKERS = """
import os
import time

from queuelog_core.worker import Worker


def chores(grace_seconds):
    worker = Worker(concurrency=4, grace_seconds=grace_seconds, poll_seconds_max=0.2)

    @worker.handler("chore")
    def do(job):
        with open("runs", "a") as file:
            file.write(f"{job.id} {job.attempt} {os.environ['WORKER_NAME']}\\n")
        # Shorter each time: a job that is always interrupted would outgrow its history.
        time.sleep(job.payload["seconds"] / job.attempt)

    return worker


patient, hasty = chores(25), chores(0.2)
"""


class Run(NamedTuple):
    """A handler that began, as it says itself."""

    job_id: int
    attempt: int
    worker: str


def worker_keys(folder: Path, number: int) -> dict[str, str]:
    """A key for each worker that there will ever be, by its name."""
    names = [f"worker-{count}" for count in range(number)]
    return {name: make_key(folder, name, Role.WORKER) for name in names}


class Fleet:
    """So many `queuelog work` beside each other, until the block is left and all are told to stop.

    `ended` has the signal that ended each worker.
    """

    def __init__(self, folder: Path, url: str, keys: Mapping[str, str], size: int) -> None:
        self._folder = folder
        self._url = url
        self._unused = iter(keys.items())
        self._kinds = itertools.cycle(["patient", "hasty"])
        self._size = size
        self._live: dict[str, subprocess.Popen[bytes]] = {}
        self.ended: dict[str, signal.Signals] = {}
        (folder / "fleet_here.py").write_text(_WORKERS)
        (folder / "runs").touch()

    def __enter__(self) -> Self:
        for _ in range(self._size):
            self._start()
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        try:
            for name in [] if failed else list(self._live):
                # One that was started a moment ago may not listen yet.
                self._stop(name, signal.SIGTERM, {0, -signal.SIGTERM})
        finally:
            for process in self._live.values():
                process.kill()
                process.wait()

    def restart_the_oldest(self, number: signal.Signals) -> None:
        """End it by a signal in the middle of its work, and start another in its place."""
        name = next(iter(self._live))
        eventually(lambda: any(run.worker == name for run in self.runs()), f"{name} has begun")
        self._stop(name, number, {-number if number == signal.SIGKILL else 0})
        self._start()

    def runs(self) -> list[Run]:
        """Every run of a handler that began."""
        lines = (self._folder / "runs").read_text().splitlines()
        return [Run(int(job), int(attempt), name) for job, attempt, name in map(str.split, lines)]

    def _start(self) -> None:
        name, key = next(self._unused)
        settings = {"QUEUELOG_URL": self._url, "QUEUELOG_API_KEY": key, "WORKER_NAME": name}
        with (self._folder / f"log-{name}").open("wb") as log:
            self._live[name] = subprocess.Popen(
                [str(COMMAND), "work", f"fleet_here:{next(self._kinds)}"],
                cwd=self._folder,
                env=environment(**settings),
                stdout=log,
                stderr=log,
            )

    def _stop(self, name: str, number: signal.Signals, codes: set[int]) -> None:
        process = self._live[name]
        process.send_signal(number)
        assert process.wait(STOP_SECONDS) in codes, name
        self.ended[name] = number
        del self._live[name]
