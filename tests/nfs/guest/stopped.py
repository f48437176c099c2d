"""A process that stands before one of its file syscalls, to be killed or cut off right there."""

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.nfs.guest.forked import Forked

_TRACEME, _SYSCALL, _DETACH, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 24, 17, 0x4200, 0x420E
_TELL_SYSCALLS_APART, _DIE_WITH_THE_TRACER = 0x1, 0x100000
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_ENTRY = 1
_WRITE = 1
_FILE_SYSCALLS = {
    0: "read",
    _WRITE: "write",
    2: "open",
    3: "close",
    4: "stat",
    5: "fstat",
    6: "lstat",
    17: "pread64",
    18: "pwrite64",
    21: "access",
    72: "fcntl",
    74: "fsync",
    75: "fdatasync",
    77: "ftruncate",
    87: "unlink",
    257: "openat",
    262: "newfstatat",
    263: "unlinkat",
    332: "statx",
}
"""Those of x86_64 by number; the others leave no trace on a volume."""
_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long


class Syscall(NamedTuple):
    """A file syscall, and what its first argument names if that is a descriptor."""

    name: str
    target: str


class _Info(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("arch", ctypes.c_uint32),
        ("instruction", ctypes.c_uint64),
        ("stack", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


class Stopped(Forked):
    """A child that makes ready, then goes through an operation as far as it is let.

    `prepare` returns the operation; what it does itself is not counted.
    """

    def __init__(self, prepare: Callable[[], Callable[[], object]]) -> None:
        def work() -> object:
            operation = prepare()
            _call(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            return operation()

        super().__init__(work)

    def wait_until_prepared(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFSTOPPED(status), f"it could not make ready: {self.answer(1)}"
        _call(_SETOPTIONS, self.pid, 0, _TELL_SYSCALLS_APART | _DIE_WITH_THE_TRACER)

    def run_before(self, number: int) -> list[Syscall]:
        """Let it go on till it stands before its nth file syscall, or at last before it tells the
        outcome; all that it has called, that one included."""
        called: list[Syscall] = []
        while len(called) < number:
            info = self._next_entry()
            if info.number == _WRITE and info.arguments[0] == self.answering:
                break
            if info.number in _FILE_SYSCALLS:
                called.append(Syscall(_FILE_SYSCALLS[info.number], self._target(info)))
        return called

    def go_on(self) -> None:
        _call(_DETACH, self.pid)

    def _next_entry(self) -> _Info:
        info = _Info()
        sent = 0
        while info.op != _ENTRY:
            _call(_SYSCALL, self.pid, 0, sent)
            _, status = os.waitpid(self.pid, 0)
            assert os.WIFSTOPPED(status), f"it ended with status {status}"
            sent = 0 if os.WSTOPSIG(status) == _SYSCALL_STOP else os.WSTOPSIG(status)
            if not sent:
                size = ctypes.sizeof(info)
                _call(_GET_SYSCALL_INFO, self.pid, size, ctypes.addressof(info))
        return info

    def _target(self, info: _Info) -> str:
        try:
            return str(Path(f"/proc/{self.pid}/fd/{info.arguments[0]}").readlink())
        except OSError:
            return ""


def _call(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _ptrace(request, pid, address, data) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), f"ptrace request {request}")
