"""Every acknowledged write is on disk: fsyncs counted by strace, per verb and journal mode."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ROUNDS = 8
LOCAL_WRITE, NETWORK_WRITE = 1, 4
CALLS = {
    "enqueue": True,
    "enqueue-batch": True,
    "claim": True,
    "complete": True,
    "fail": True,
    "replay-enqueue": False,
    "replay-complete": False,
    "empty-claim": False,
    "get": False,
    "list": False,
    "stats": False,
}


def fsyncs(folder: Path, volume: str, call: str, rounds: int) -> int:
    """Syncs of a process that makes the call `rounds` times after a fixed preparation."""
    log = folder / f"{call}-{rounds}.strace"
    database = folder / f"{call}-{rounds}.db"
    script = [sys.executable, "-m", "tests.stores.fsync_script"]
    command = [*script, f"sqlite:///{database}?volume={volume}", call, str(rounds)]
    trace = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,exit_group", "-o", str(log)]
    subprocess.run([*trace, *command], cwd=ROOT, check=True, timeout=60)
    text = log.read_text()
    assert "exit_group" in text, "strace saw nothing"
    return len(re.findall(r"\bf(?:data)?sync\(", text))


@pytest.mark.parametrize(("call", "writes"), CALLS.items())
@pytest.mark.parametrize(
    ("volume", "per_write"), [("local", LOCAL_WRITE), ("network", NETWORK_WRITE)]
)
def test_a_call_syncs_just_once_per_commit(
    tmp_path: Path, volume: str, per_write: int, call: str, writes: bool
) -> None:
    idle = fsyncs(tmp_path, volume, call, 0)
    busy = fsyncs(tmp_path, volume, call, ROUNDS)

    assert (busy - idle) / ROUNDS == (per_write if writes else 0)
