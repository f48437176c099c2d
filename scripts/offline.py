"""`make offline`: the whole API under serverless-offline, on this folder's SQLite file and keys.

    python -m scripts.offline [--port 3000]

QUEUELOG_STORE may name another store, such as dynamodb://table?endpoint=http://127.0.0.1:8000.
Makes the demo's keys once, prints what to type, and becomes the node process itself, so that a
signal reaches it.
"""

import argparse
import os
import socket
from pathlib import Path

from queuelog_core.clock import SystemClock
from queuelog_core.demo import RUNNER, banner, sample_keys
from queuelog_core.key_registry import open_registry
from queuelog_core.stores import is_table

ROOT = Path(__file__).parent.parent
SERVERLESS = ROOT / "node_modules" / "serverless" / "bin" / "serverless.js"

RUNS = "the scheduled worker runs it at the next full minute"
ENDS = "Ctrl-C stops it; a job that runs then waits for its lease and runs again."


def main() -> None:
    options = argparse.ArgumentParser(prog="offline", description=__doc__)
    options.add_argument("--port", type=int, default=3000)
    options.add_argument("--folder", type=Path, default=Path(".queuelog"))
    asked = options.parse_args()
    home = asked.folder.resolve()
    home.mkdir(mode=0o700, exist_ok=True)
    url = f"http://127.0.0.1:{asked.port}"
    registry = f"file:{home}/keys.json"
    refuse_a_port_in_use(asked.port)
    store = os.environ.get("QUEUELOG_STORE") or f"sqlite:///{home}/queuelog.db"
    database = "dynamodb" if is_table(store) else "sqlite"
    keys = sample_keys(open_registry(registry, SystemClock()), home / "demo.env", url)
    print(banner(url, keys, asked.folder, RUNS, ENDS), flush=True)
    os.chdir(ROOT)
    os.execvpe(
        "node",
        [
            *("node", str(SERVERLESS), "offline", "--stage", "offline", "--noSponsor"),
            f"--param=database={database}",
        ],
        {
            **os.environ,
            # The emulator runs python3 from here, whatever the runtime is called.
            "VIRTUAL_ENV": str(ROOT / ".venv"),
            "QUEUELOG_STORE": store,
            "QUEUELOG_KEYS": registry,
            "QUEUELOG_FOLDER": str(home),
            "QUEUELOG_URL": url,
            "QUEUELOG_API_KEY": keys[RUNNER],
            "QUEUELOG_HTTP_PORT": str(asked.port),
            "QUEUELOG_LAMBDA_PORT": str(asked.port + 2),
            "QUEUELOG_WEBSOCKET_PORT": str(asked.port + 1),
        },
    )


def refuse_a_port_in_use(port: int) -> None:
    """Before the keys' file names an address that somebody else serves."""
    for each in range(port, port + 3):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", each))
            except OSError as error:
                raise SystemExit(f"offline: port {each} is taken: choose another PORT") from error


if __name__ == "__main__":
    main()
