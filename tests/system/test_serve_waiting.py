"""While something else holds the file, a crowd of callers is not served in rounds of threads."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from queuelog_core.identity import Role
from queuelog_core.serve import THREADS
from tests.support.servers import Answer, make_key, serving

CALLERS = 5 * THREADS
WAITED_MS = 1000.0


def test_only_one_round_of_threads_waits_for_a_blocked_file(tmp_path: Path) -> None:
    key = make_key(tmp_path, "shop", Role.PRODUCER)
    with serving(tmp_path, "--no-upkeep") as server, ThreadPoolExecutor(CALLERS) as crowd:

        def enqueue(number: int) -> Answer:
            body = {"type": "email", "idempotency_key": f"k{number}"}
            return server.call("POST", "/jobs", key, body)

        with closing(sqlite3.connect(tmp_path / ".queuelog" / "queuelog.db")) as holder:
            holder.execute("BEGIN IMMEDIATE")
            refused = list(crowd.map(enqueue, range(CALLERS)))
        repeated = list(crowd.map(enqueue, range(CALLERS)))

        lines = [json.loads(line) for line in server.log.splitlines()]
        waited = [line for line in lines if line.get("status") == 503 and line["ms"] > WAITED_MS]
    assert {(answer.status, answer.json["code"]) for answer in refused} == {(503, "store-busy")}
    assert all(answer.headers["Retry-After"] == "1" for answer in refused)
    assert 0 < len(waited) <= THREADS
    assert [answer.status for answer in repeated] == [201] * CALLERS
    assert len({answer.json["id"] for answer in repeated}) == CALLERS
