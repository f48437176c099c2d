"""What the figures were measured on, in words."""

import os
import platform
import sqlite3
from pathlib import Path

from queuelog_core.stores.volume import find_mount


def machine(folder: Path) -> str:
    """Processor, memory, system, disk and versions; nothing that tells one host from another."""
    cores = os.cpu_count()
    memory = _field("/proc/meminfo", "MemTotal").split()[0]
    mounts = Path("/proc/self/mountinfo").read_text("utf-8")
    _, file_system = find_mount(folder.resolve(), mounts)
    return (
        f"{cores} × {_field('/proc/cpuinfo', 'model name')}, {int(memory) / 2**20:.0f} GiB, "
        f"Linux {platform.release().split('-')[0]}, {file_system}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def _field(file: str, name: str) -> str:
    for line in Path(file).read_text("utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"
