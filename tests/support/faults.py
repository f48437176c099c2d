"""Faults of the disk: strace lets chosen system calls of a process fail, on chosen files alone.

strace counts the calls of each thread apart, and marks those that it made fail.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CALLS = ("fsync", "fdatasync", "pwrite64", "write", "ftruncate", "unlink")
ERRORS = ("EIO", "ENOSPC")
ATTACH_SECONDS = 60
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\(", re.MULTILINE)


class Point(NamedTuple):
    """Where a fault strikes: the `number`th such call of a thread fails, and if `lasting` every
    later one too."""

    call: str
    number: int
    error: str = "EIO"
    lasting: bool = False

    def __str__(self) -> str:
        return f"{self.call}-{self.number}{'+' if self.lasting else ''}-{self.error}"

    @property
    def injection(self) -> Sequence[str]:
        when = f"{self.number}{'+' if self.lasting else ''}"
        return ["-e", f"inject={self.call}:error={self.error}:when={when}"]


class Traced:
    """A process under strace. What was seen may be asked for once it has been left in peace."""

    def __init__(self, strace: "subprocess.Popen[str]", seen: Path) -> None:
        self._strace = strace
        self._seen = seen

    def leave_in_peace(self) -> None:
        """End the faults; the process goes on. Nothing more when it has ended by itself."""
        if self._strace.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._strace.send_signal(signal.SIGTERM)
        self._strace.wait(ATTACH_SECONDS)

    @property
    def injected(self) -> int:
        return self._text.count("(INJECTED)")

    @property
    def calls(self) -> "Counter[str]":
        """How many calls there were of each kind."""
        return Counter(name for name in _CALL.findall(self._text) if name in CALLS)

    @property
    def _text(self) -> str:
        assert self._strace.returncode is not None, "it is traced still"
        return self._seen.read_text("utf-8", "replace")


@contextmanager
def traced(
    pid: int, files: Sequence[Path], seen: Path, point: Point | None = None
) -> Iterator[Traced]:
    """A process and all its threads, from its next system call until the block is left; calls on
    other files are neither counted nor hit."""
    paths = [word for file in files for word in ("-P", str(file))]
    trace = ["-e", f"trace={','.join(CALLS)}", *(point.injection if point else ())]
    strace = subprocess.Popen(
        ["strace", "-f", "-o", str(seen), *paths, *trace, "-p", str(pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    run = Traced(strace, seen)
    try:
        _wait_until_attached(strace)
        yield run
    finally:
        run.leave_in_peace()
        assert strace.stderr is not None
        strace.stderr.close()


def _wait_until_attached(strace: "subprocess.Popen[str]") -> None:
    assert strace.stderr is not None
    ready, _, _ = select.select([strace.stderr], [], [], ATTACH_SECONDS)
    line = strace.stderr.readline() if ready else "nothing"
    assert " attached" in line, f"strace said {line}"


def files_of(database: Path) -> Sequence[Path]:
    """A database, all that SQLite lays beside it, and the folder that names them."""
    beside = [database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal")]
    return [database, *beside, database.parent]


def let_anybody_trace() -> None:
    """Some kernels let only a parent trace a process, unless it says so."""
    import ctypes

    pr_set_ptracer, anybody = 0x59616D61, -1
    ctypes.CDLL(None).prctl(pr_set_ptracer, ctypes.c_long(anybody), 0, 0, 0)


def is_root() -> bool:
    return os.geteuid() == 0
