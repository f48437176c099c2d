"""Three ways to run the command: as a process beside a server, in this process, on a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner, Result

from queuelog_core.cli import main
from queuelog_core.client import Client, Request, Response
from queuelog_core.http.in_process import in_process
from tests.client.scripted import Pauses
from tests.support.http import Api
from tests.support.servers import COMMAND, Server, environment

SECONDS_MAX = 60
STEERING = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\r\nnext\u202e"
_DRAWING = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|\r")


def commands(
    group: click.Group = main, path: str = "queuelog"
) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def json_lines(*documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


class Shell:
    """Runs commands with the keys of one server, in its folder."""

    def __init__(self, server: Server, keys: dict[str, str] | None = None) -> None:
        self.server = server
        self.keys = server.demo_keys() if keys is None else keys

    def environment(self, key: str = "ADMIN_KEY", **more: str) -> dict[str, str]:
        """With the key of that name, or that key itself."""
        settings = {"QUEUELOG_URL": self.server.url, "QUEUELOG_API_KEY": self.keys.get(key, key)}
        return environment(**settings, **more)

    def __call__(
        self, *arguments: str, key: str = "ADMIN_KEY", stdin: str = "", **more: str
    ) -> "subprocess.CompletedProcess[str]":
        return self.run([str(COMMAND), *arguments], stdin, self.environment(key, **more))

    def script(self, text: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """What bash makes of a line or of many, with this `queuelog` on its path."""
        path = f"{COMMAND.parent}:{os.environ['PATH']}"
        return self.run(["bash", "-c", text], "", self.environment(PATH=path, **more))

    def run(
        self, command: list[str], stdin: str, env: dict[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self.server.folder,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )

    def lines(self, *arguments: str) -> list[Any]:
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


class Here:
    """Runs commands in this process with the keys of tests.support.http, by `transport`; pauses
    between tries take no time."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        self.transport = in_process(api.client.application)
        patience = Pauses().patience()
        client = partial(Client, transport=self._send, patience=patience)
        monkeypatch.setattr("queuelog_core.cli.shared.Client", client)

    def _send(self, request: Request) -> Response:
        return self.transport(request)

    def __call__(self, *arguments: str, key: str = "admin", stdin: str | bytes = "") -> Result:
        settings = {"QUEUELOG_API_KEY": key, "QUEUELOG_URL": None}
        done = CliRunner().invoke(main, arguments, stdin, settings, prog_name="queuelog")
        if not isinstance(done.exception, SystemExit | None):
            raise done.exception
        return done

    def lines(self, *arguments: str, **options: Any) -> list[Any]:
        done = self(*arguments, **options)
        assert done.exit_code == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def told(here: Here, *command: str, key: str = "admin") -> tuple[int, list[tuple[str, str]]]:
    """The exit code, and the name and the words of each line of stderr; stdout stays empty."""
    done = here(*command, key=key)
    assert done.stdout == ""
    assert done.stderr.replace("\n", "").isprintable()
    lines = [line.partition(": ") for line in done.stderr.splitlines()]
    return done.exit_code, [(name, words) for name, _, words in lines]


def between_looks(
    monkeypatch: pytest.MonkeyPatch, command: str, *steps: Callable[[], object]
) -> None:
    """Let a watching command look once, and again after each step."""

    def looks(_interval_seconds: float, _rounds: int | None) -> Any:
        yield
        for step in steps:
            step()
            yield

    monkeypatch.setattr(import_module(f"queuelog_core.cli.{command}"), "looks", looks)


class Seen(NamedTuple):
    """What a command on a terminal showed; `out` is its stdout when that was a pipe."""

    code: int
    screen: str
    out: str

    @property
    def lines(self) -> list[str]:
        """What stays to be read: a line as it is after it was last wiped, without its drawing."""
        wiped = [line.rpartition("\x1b[2K")[2] for line in self.screen.split("\n")]
        return [_DRAWING.sub("", line) for line in wiped]


def on_terminal(
    command: Sequence[str | Path],
    folder: Path,
    env: dict[str, str],
    *,
    piped: bool = False,
    fed: str | None = None,
    typed: str = "",
    interrupted_after: str | None = None,
    by: signal.Signals = signal.SIGINT,
    columns: int = 200,
) -> Seen:
    """Run a command on a terminal where somebody types, or interrupts it after they have seen some
    words; with `piped` its stdout, with `fed` its stdin is a file instead."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with TemporaryFile() as out, TemporaryFile() as stdin:
        stdin.write((fed or "").encode())
        stdin.seek(0)
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={"NO_COLOR": "", "TERM": "xterm-256color", **env, "COLUMNS": "", "LINES": ""},
            stdin=slave if fed is None else stdin,
            stdout=out if piped else slave,
            stderr=slave,
        )
        os.close(slave)
        os.write(master, typed.encode())
        screen = _shown(master, process, interrupted_after, by)
        code = process.wait(SECONDS_MAX)
        out.seek(0)
        return Seen(code, screen, out.read().decode())


def _shown(
    master: int,
    process: "subprocess.Popen[bytes]",
    interrupted_after: str | None,
    by: signal.Signals,
) -> str:
    """All that was written to a terminal until its last writer has ended."""
    shown, awaited, pause = b"", (interrupted_after or "").encode(), 0.3
    # Linux raises when nobody holds the other end any more.
    with os.fdopen(master, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while True:
            if not select.select([terminal], [], [], SECONDS_MAX)[0]:
                process.kill()
            shown += terminal.read(65_536) or b""
            while awaited and awaited in shown and not select.select([terminal], [], [], pause)[0]:
                # One that comes just before the command begins to wait is noticed with the next,
                # which must not meet a command that is about to end.
                process.send_signal(by)
                pause = 10.0
    return shown.decode()


class Screen:
    """Runs commands on a terminal beside one server, whose job 1 has an error text that steers."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.folder = shell.server.folder

    def __call__(self, *arguments: str, settings: dict[str, str] | None = None, **how: Any) -> Seen:
        env = self.shell.environment(**{"TERM": "xterm-256color", **(settings or {})})
        return on_terminal([COMMAND, *arguments], self.folder, env, **how)

    def cancelled(self, many: int, job_type: str = "pdf") -> None:
        """Add jobs that are cancelled."""
        made = self.shell("enqueue", job_type, "-", "--delay", "1h", stdin="{}\n" * many)
        assert self.shell("jobs", "cancel", *made.stdout.split()).returncode == 0

    def count(self, status: str, job_type: str) -> int:
        where = ("--status", status, "--type", job_type)
        return len(self.shell.lines("jobs", "list", *where))
