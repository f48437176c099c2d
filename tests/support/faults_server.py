"""A real server whose disk fails: at its start, or while it serves.

It serves by one thread, since strace counts the calls of each thread apart; else it is what
`queuelog serve` runs.
"""

import http.client
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from queuelog_core import serve as serving
from queuelog_core.config import Config
from queuelog_core.errors import StoreUnavailable
from queuelog_core.identity import Role
from tests.support import faults_script
from tests.support.faults import Point, Traced, files_of, let_anybody_trace, traced
from tests.support.faults_child import CAUSE, CHILD_SECONDS, early_checkpoints
from tests.support.faults_script import Faults, Keys, Script, Send, timeless
from tests.support.processes import FRESH, Fresh
from tests.support.servers import Answer, make_key

ENDED = "ended well"
TYPES = "[types.email]\n[types.sync]\n"
"""No backoff: what failed is due at once."""


class Refused(Exception):
    """The server did not start; the text is what its operator reads."""


class Seen(NamedTuple):
    """What became of the jobs, how often a request was refused, and what strace counted."""

    story: str
    refusals: int
    injected: int
    calls: Mapping[str, int]


class Lives:
    """A server's folder, and its processes one after the other."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder = folder
        self.database = folder / ".queuelog" / "queuelog.db"
        self.mode = mode
        roles = {"shop": Role.PRODUCER, "mailer": Role.WORKER, "root": Role.ADMIN}
        self.keys = Keys(*(make_key(folder, name, role) for name, role in roles.items()))
        (folder / "types.toml").write_text(TYPES, "utf-8")

    @property
    def log(self) -> Sequence[Any]:
        lines = (self.folder / "log").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @contextmanager
    def process(self) -> Iterator[tuple[Any, Any]]:
        """A process that serves once it is told to "go", and the line to it. It is asked to end
        when the block is left, and must have ended well."""
        ours, theirs = FRESH.Pipe()
        arguments = (theirs, str(self.folder), str(self.database), self.mode)
        process = Fresh(target=_live, args=arguments)
        process.start()
        theirs.close()
        try:
            receive(ours)
            yield process, ours
            if process.is_alive():
                process.terminate()
            # Not its exit code: multiprocessing makes 255 of it when two threads ask at once.
            assert receive(ours) == ENDED
        finally:
            process.kill()
            process.join()


def receive(line: Any) -> Any:
    assert line.poll(CHILD_SECONDS), "the server says nothing"
    return line.recv()


def start(line: Any) -> str:
    """The address of a server that serves now. Raises Refused."""
    line.send("go")
    address, refusal = receive(line)
    if refusal:
        raise Refused(refusal)
    return str(address)


def _live(line: Any, folder: str, database: str, mode: str) -> None:
    os.chdir(folder)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    let_anybody_trace()
    line.send("ready")
    line.recv()
    serving.THREADS = 1
    config = Config(
        store=f"sqlite:///{database}?volume={mode}",
        keys="file:.queuelog/keys.json",
        job_types=Path("types.toml"),
        retention_days=30,
        log_level="INFO",
    )
    options = serving.Options(
        host="127.0.0.1",
        port=0,
        upkeep=False,
        folder=Path(folder),
        ready=lambda url: line.send((url, "")),
    )
    with early_checkpoints():
        try:
            serving.serve(config, options, lambda _: None)
        except StoreUnavailable as error:
            line.send(("", str(error)))
    line.send(ENDED)


@contextmanager
def over_http(url: str) -> Iterator[Send]:
    """Requests on one connection."""
    address = urlsplit(url)
    assert address.hostname == "127.0.0.1"
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=CHILD_SECONDS)

    def send(method: str, path: str, key: str, body: Any, headers: Mapping[str, str]) -> Answer:
        sent = {"X-API-Key": key, "Content-Type": "application/json", **headers}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        reply = connection.getresponse()
        return Answer(reply.status, dict(reply.headers), reply.read().decode())

    with closing(connection):
        yield send


def served(folder: Path, mode: str, point: Point | None = None) -> Seen:
    """Play the script over HTTP, with faults at this point from when the server serves."""
    lives = Lives(folder, mode)
    with lives.process() as (process, line), over_http(start(line)) as send:
        with _traced(lives, process.pid, point) as run:
            lasting = point is not None and point.lasting
            faults = Faults(run.leave_in_peace if lasting else None)
            script = Script(send, lives.keys, faults, lambda: None)
            faults_script.play(script)
        faults_script.settle_extras(script)
        told = faults_script.story(script)
    causes = [line for line in lives.log if line["event"] == "store-error"]
    assert sorted(line["request_id"] for line in causes) == sorted(script.refused)
    assert all(CAUSE.match(line["cause"].removeprefix(f"{lives.database}: ")) for line in causes)
    assert not [line for line in lives.log if line.get("status") == 500]
    with lives.process() as (_, line), over_http(start(line)) as send:
        after = Script(send, lives.keys, Faults(None), lambda: None)
        after.extra.update(script.extra)
        assert faults_script.story(after) == told
    return Seen(timeless(told), faults.refusals, run.injected, run.calls)


def started(folder: Path, mode: str, point: Point | None = None) -> Seen:
    """Start a server with faults at this point; whatever comes of that, it serves without them."""
    lives = Lives(folder, mode)
    refusal = ""
    with lives.process() as (process, line), _traced(lives, process.pid, point) as run:
        try:
            start(line)
        except Refused as refused:
            refusal = str(refused)
            process.join(CHILD_SECONDS)
        run.leave_in_peace()
    assert not refusal or str(lives.database) in refusal, refusal
    with lives.process() as (_, line), over_http(start(line)) as send:
        script = Script(send, lives.keys, Faults(None), lambda: None)
        script.enqueue("first")
        told = faults_script.story(script)
    return Seen(timeless(told), int(bool(refusal)), run.injected, run.calls)


def _traced(lives: Lives, pid: int, point: Point | None) -> AbstractContextManager[Traced]:
    return traced(pid, files_of(lives.database), lives.folder / "strace", point)
