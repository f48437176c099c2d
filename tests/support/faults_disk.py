"""Disks without room, and files that cannot be written to, for a server that runs on them."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from tests.support.faults import is_root
from tests.support.servers import COMMAND, environment

DISK_BYTES = 1024 * 1024
_BLOCK_BYTES = 4096


class Disk(Protocol):
    """Where a server with this process id keeps its file."""

    def fill(self, pid: int, /) -> None: ...

    def make_room(self, pid: int, /) -> None: ...


class TinyDisk:
    """A real one, which something else fills up."""

    def __init__(self, folder: Path) -> None:
        self._other = folder / "something-else"

    def fill(self, _pid: int) -> None:
        with self._other.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * _BLOCK_BYTES)
            except OSError:
                return

    def make_room(self, _pid: int) -> None:
        self._other.unlink()


class SizeLimit:
    """No file of the process may grow; what that raises is no ENOSPC, but it needs no powers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self, pid: int) -> None:
        largest = max(file.stat().st_size for file in self._folder.iterdir())
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))

    def make_room(self, pid: int) -> None:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


@contextmanager
def size_limit(folder: Path) -> Iterator[Disk]:
    folder.mkdir()
    yield SizeLimit(folder)


@contextmanager
def tiny_disk(folder: Path) -> Iterator[Disk]:
    """A disk of its own where this process may mount one; elsewhere the limit once more."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    sys.stdout.write(f"a disk of its own: {mounted}\n")
    try:
        yield TinyDisk(folder) if mounted else SizeLimit(folder)
    finally:
        if mounted:
            # Whoever still looks at it must not keep it in the folders that are cleared later.
            subprocess.run(["umount", "--lazy", folder], check=True)


def bound_by_modes() -> list[str]:
    """What a command begins with, so that also root's process may only do what a file's mode
    lets its owner do."""
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if is_root() else []


def try_to_serve(
    folder: Path, url: str, largest: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """A start that must not succeed, by a process for which modes count; it can make no file
    larger than that."""
    limit = None if largest is None else partial(_limit_files, largest)
    return subprocess.run(
        [*bound_by_modes(), str(COMMAND), "serve", "--port", "0"],
        cwd=folder,
        env=environment(QUEUELOG_STORE=url),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=limit,
    )


@contextmanager
def read_only(*paths: Path) -> Iterator[None]:
    """Files and folders that nobody may write to until the block is left."""
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        yield
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, to see later that nothing has changed."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _limit_files(size: int) -> None:
    """How large this process, and what it becomes, may make a file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
