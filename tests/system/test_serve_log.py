"""What a server writes about its requests: JSON lines with ids and codes, and never a value."""

import json
from pathlib import Path
from typing import Any

from queuelog_core.identity import Role
from tests.support.servers import Server, call, make_key, serving

SECRETS = ["p4yload-value", "r3sult-value", "3rror-text", "k3y-of-a-request", "qu3ry-value"]


def lines_of(server: Server) -> list[Any]:
    """Every line of the log; one that is not JSON fails."""
    return [json.loads(line) for line in server.log.splitlines()]


def requests_of(server: Server) -> list[Any]:
    return [line for line in lines_of(server) if line["event"] == "request"]


def test_every_line_is_one_json_object_from_the_start_to_the_end(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as server:
        keys = server.demo_keys()
        job = server.enqueue(keys["PRODUCER_KEY"], type="email", payload={"to": "ada@example.com"})
        server.job_once(keys["ADMIN_KEY"], job["id"], "completed")
        server.call("GET", "/nowhere")
        server.call("DELETE", "/jobs", keys["ADMIN_KEY"])
        server.stop()

        lines, requests = lines_of(server), requests_of(server)

    assert all(list(line)[:3] == ["at", "level", "event"] for line in lines)
    assert {line["level"] for line in lines} == {"info"}
    assert {(line["route"], line["status"]) for line in requests} >= {
        ("enqueue", 201),
        ("claim", 200),
        ("complete", 200),
        ("get", 200),
        ("-", 404),
        ("-", 405),
    }


def test_a_request_is_logged_with_its_ids_and_duration(tmp_path: Path) -> None:
    key = make_key(tmp_path, "shop", Role.PRODUCER)
    with serving(tmp_path) as server:
        answer = server.call("POST", "/jobs", key, {"type": "email"})

        [line] = [line for line in requests_of(server) if line["route"] == "enqueue"]

    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert line["job_id"] == answer.json["id"]
    assert line["key_id"].startswith("key_")
    assert line["ms"] >= 0


def test_no_key_and_no_value_of_a_request_reaches_the_log(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as server:
        keys = server.demo_keys()
        run_jobs_with_secrets(server, keys)
        for wrong in ("ql_admin_n0-such-key", "qu3ry-value"):
            server.call("GET", "/jobs?type=qu3ry-value&cursor=qu3ry-value", wrong)
        server.call("GET", "/jobs?type=qu3ry-value", keys["ADMIN_KEY"])
        server.call("GET", "/jobs/qu3ry-value", keys["ADMIN_KEY"])
        server.stop()

        log = server.log

    middles = [key.split("_")[2] for name, key in keys.items() if name != "QUEUELOG_URL"]
    assert '"route":"fail"' in log
    assert [text for text in [*SECRETS, *middles, "n0-such-key"] if text in log] == []


def run_jobs_with_secrets(server: Server, keys: dict[str, str]) -> None:
    body = {"type": "email", "payload": {"p4yload-value": "p4yload-value"}, "max_retries": 0}
    job = server.enqueue(keys["PRODUCER_KEY"], **body, idempotency_key="k3y-of-a-request")
    server.job_once(keys["ADMIN_KEY"], job["id"], "failed")
    for verb, report in (
        ("complete", {"result": "r3sult-value"}),
        ("fail", {"error": "3rror-text"}),
    ):
        path = f"/jobs/{job['id']}/{verb}"
        assert server.call("POST", path, keys["WORKER_KEY"], report).status == 409
    unknown = {"type": "email", "p4yload-value": 1, "payload": "r3sult-value"}
    assert server.call("POST", "/jobs", keys["PRODUCER_KEY"], unknown).status == 422


def test_the_demos_own_polling_stays_out_of_the_log_and_that_of_others_does_not(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, "--demo") as server:
        keys = server.demo_keys()
        job = server.enqueue(keys["PRODUCER_KEY"], type="email", payload={"to": "ada@example.com"})
        server.job_once(keys["ADMIN_KEY"], job["id"], "completed")
        assert server.call("POST", "/jobs/claim", keys["WORKER_KEY"], {}).status == 204
        server.stop()

        claims = [line for line in requests_of(server) if line["route"] == "claim"]

    assert sorted(line["status"] for line in claims) == [200, 204]


def test_a_log_level_of_error_leaves_requests_out(tmp_path: Path) -> None:
    with serving(tmp_path, QUEUELOG_LOG_LEVEL="error") as server:
        call(server.url, "GET", "/nowhere")

        server.stop()

        assert server.log == ""
