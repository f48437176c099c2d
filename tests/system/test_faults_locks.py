"""On a network volume somebody who holds the file stops readers too: all are told to come again."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from queuelog_core.identity import Role
from tests.support.servers import Answer, make_key, serving

URL = "sqlite:///.queuelog/queuelog.db?volume=network"
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/jobs", {"type": "email", "idempotency_key": "k"}),
    ("POST", "/jobs/claim", {"types": ["pdf"]}),
    ("POST", "/jobs/1/complete", {"attempt": 1}),
    ("POST", "/jobs/2/cancel", None),
    ("GET", "/jobs/1", None),
    ("GET", "/jobs", None),
    ("GET", "/stats", None),
]


def test_who_meets_a_lock_is_told_to_come_again_and_then_served(tmp_path: Path) -> None:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with (
        serving(tmp_path, "--no-upkeep", QUEUELOG_STORE=URL) as server,
        ThreadPoolExecutor(len(REQUESTS)) as crowd,
    ):
        for job_type in ("email", "sync"):
            server.enqueue(key, type=job_type)
        assert server.call("POST", "/jobs/claim", key, {"types": ["email"]}).json["id"] == 1

        def send(request: tuple[str, str, Any]) -> Answer:
            method, path, body = request
            return server.call(method, path, key, body)

        with closing(sqlite3.connect(tmp_path / ".queuelog" / "queuelog.db")) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            refused = list(crowd.map(send, REQUESTS))
        served = [send(request).status for request in REQUESTS]

        lines = [json.loads(line) for line in server.log.splitlines()]
    assert {(answer.status, answer.json["code"]) for answer in refused} == {(503, "store-busy")}
    assert {answer.headers["Retry-After"] for answer in refused} == {"1"}
    assert served == [201, 204, 200, 200, 200, 200, 200]
    causes = {line["request_id"]: line["cause"] for line in lines if "cause" in line}
    assert len(causes) == sum("cause" in line for line in lines) == len(REQUESTS)
    assert all(" too long" in cause for cause in causes.values())
