"""Real `queuelog serve` processes, each in a folder of its own, and callers of their API."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from queuelog_core.clock import SystemClock
from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from tests.support.http import ROOT

COMMAND = Path(sys.executable).parent / "queuelog"
START_SECONDS = 20.0
COMMAND_SECONDS = 10.0
STOP_SECONDS = 20.0
_TICK_SECONDS = 0.05
_URL = re.compile(r"serves (http://\S+?:\d+)")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to one request."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Server:
    """A running server. `out` and `log` are what it has written so far."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self.folder = folder
        self.process = process
        self.url = ""

    @property
    def out(self) -> str:
        return (self.folder / f"out-{self.process.pid}").read_text("utf-8")

    @property
    def log(self) -> str:
        return (self.folder / f"log-{self.process.pid}").read_text("utf-8")

    def wait_until_ready(self) -> "Server":
        """Read the address from what the server prints, then ask until it answers."""
        eventually(self._answers, "the server answers", START_SECONDS)
        return self

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"it ended: {self.out}{self.log}"
        found = _URL.search(self.out)
        if found is None:
            return False
        self.url = found.group(1)
        try:
            return self.call("GET", "/health").status == 200
        except OSError:
            return False

    def call(self, method: str, path: str, key: str = "", body: Any = None) -> Answer:
        return call(self.url, method, path, key, body)

    def enqueue(self, key: str, **fields: Any) -> Any:
        answer = self.call("POST", "/jobs", key, fields)
        assert answer.status == 201, answer.text
        return answer.json

    def job(self, key: str, job_id: int) -> Any:
        answer = self.call("GET", f"/jobs/{job_id}", key)
        assert answer.status == 200, answer.text
        return answer.json

    def job_once(self, key: str, job_id: int, *statuses: str) -> Any:
        """The job as soon as it has one of these statuses."""

        def look() -> Any:
            job = self.job(key, job_id)
            return job if job["status"] in statuses else None

        return eventually(look, f"job {job_id} is {' or '.join(statuses)}")

    def send_signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end, wait until it has, and return its exit code."""
        self.send_signal(number)
        return self.process.wait(STOP_SECONDS)

    def demo_keys(self) -> dict[str, str]:
        lines = (self.folder / ".queuelog" / "demo.env").read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


def call(url: str, method: str, path: str, key: str = "", body: Any = None) -> Answer:
    """One request on a connection of its own."""
    address = urlsplit(url)
    assert address.hostname in ("127.0.0.1", "localhost")
    headers = {"X-API-Key": key} if key else {}
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    with closing(connection):
        connection.request(method, path, data, headers)
        reply = connection.getresponse()
        return Answer(reply.status, dict(reply.headers), reply.read().decode())


def environment(**settings: str) -> dict[str, str]:
    """The tests' environment without any QUEUELOG_* but the given ones and the shipped types."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUEUELOG_")}
    shipped = {"QUEUELOG_JOB_TYPES": str(ROOT / "infra" / "job_types.toml")}
    return {**kept, "PYTHONPATH": str(ROOT), **shipped, **settings}


def queuelog(folder: Path, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of `queuelog` that ends by itself."""
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


@contextmanager
def serving(folder: Path, *options: str, **settings: str) -> Iterator[Server]:
    """`queuelog serve` on loopback, ready to answer; when the block is left, it has ended."""
    with starting(folder, *options, **settings) as server:
        yield server.wait_until_ready()


@contextmanager
def starting(folder: Path, *options: str, **settings: str) -> Iterator[Server]:
    """`queuelog serve` on a free port, right after its process was made."""
    command = [str(COMMAND), "serve", "--host", "127.0.0.1", "--port", "0", *options]
    with running(command, folder, environment(**settings)) as server:
        yield server


@contextmanager
def running(
    command: list[str], folder: Path, env: Mapping[str, str], stdout: int | None = None
) -> Iterator[Server]:
    """A process in a group of its own, ended when the block is left; its output goes to files,
    or to `stdout`."""
    folder.mkdir(parents=True, exist_ok=True)
    out, log = folder / "out.new", folder / "log.new"
    with out.open("wb") as out_file, log.open("wb") as log_file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdout=out_file if stdout is None else stdout,
            stderr=log_file,
            start_new_session=True,
        )
    out.rename(folder / f"out-{process.pid}")
    log.rename(folder / f"log-{process.pid}")
    try:
        yield Server(folder, process)
    finally:
        _end(process)


def eventually(look: Callable[[], _T], what: str, seconds: float = 15.0) -> _T:
    """The first true thing that `look` returns; a failure that says `what` after `seconds`."""
    give_up_at = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < give_up_at, f"not within {seconds} s: {what}"
        time.sleep(_TICK_SECONDS)


def make_key(folder: Path, name: str, role: Role) -> str:
    """A key in the registry of the server of this folder, as `queuelog keys create` makes it."""
    home = folder / ".queuelog"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    registry = FileRegistry(home / "keys.json", SystemClock())
    return registry.create(name, role, priority_max=Priority.CRITICAL)[1]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Leave nothing behind; as long as it is not reaped, its group is this process's own."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
