"""How the server's memory grows when it stands before a million jobs instead of none."""

from pathlib import Path

from queuelog_core.identity import Role
from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.measuring import memory_mib
from tests.support.backlogs import BACKLOGS, fill
from tests.support.servers import Server, make_key, serving

MANY = 1_000_000
ROUNDS = 50


def measure(folder: Path) -> tuple[float, float]:
    """Resident MiB of a server after the same requests, without jobs and with MANY."""
    return _resident(folder / "empty", 0), _resident(folder / "full", MANY)


def _resident(folder: Path, rows: int) -> float:
    key = make_key(folder, "root", Role.ADMIN)
    path = folder / ".queuelog" / "queuelog.db"
    SqliteStore(path).close()
    if rows:
        fill(path, rows, **BACKLOGS["all due"])
    with serving(folder) as server:
        for _ in range(ROUNDS):
            _ask_everything(server, key)
        return memory_mib(server.process.pid)


def _ask_everything(server: Server, key: str) -> None:
    server.call("POST", "/jobs", key, {"type": "email"})
    job = server.call("POST", "/jobs/claim", key, {}).json
    server.call("POST", f"/jobs/{job['id']}/complete", key, {"attempt": job["attempt"]})
    for path in (f"/jobs/{job['id']}", "/jobs?limit=200", "/stats", "/jobs?status=failed"):
        assert server.call("GET", path, key).status == 200
