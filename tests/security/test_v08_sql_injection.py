"""V-08: a text that ends a statement and begins another must stay a text, wherever it is sent."""

import sqlite3
from base64 import urlsafe_b64encode
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.http import Api, assert_problem, faults, json_of

TEXTS = [
    *("'; DROP TABLE jobs; --", '"; DROP TABLE jobs; --', "'); DELETE FROM jobs; --", "') --"),
    *("' OR '1'='1", "' OR 1=1 --", "1 OR 1=1", "1; UPDATE jobs SET status='completed'", "' --"),
    *("' UNION SELECT * FROM sqlite_master --", "x' AND (SELECT 1 FROM jobs) --", "\\'; --", "''"),
    *("email' /*", "*/ OR 1=1 /*", "'||(SELECT payload FROM job_payloads)||'", "`jobs`", "[jobs]"),
    *("'; ATTACH DATABASE 'x.db' AS x; --", "'; PRAGMA writable_schema=1; --", "$1", "?", "?1"),
    *(":id", "@id", "%s", "%(id)s", "{0}", "{jobs}", "%", "_", "sho_", "sh%", "s*", "NULL", "' '"),
    *("'; SELECT load_extension('x'); --", "’; DROP TABLE jobs; --", "＇; DROP TABLE jobs"),
]
every_text = pytest.mark.parametrize("text", TEXTS)
FIELDS = ["type", "priority", "payload", "max_retries", "run_at", "delay_seconds", "x"]
FILTERS = ["status", "type", "priority", "producer_id", "worker_id", "created_after", "order"]
FILTERS += ["created_before", "limit", "cursor", "idempotency_key", "' OR 1=1 --", "id"]


def dump(folder: Path) -> list[str]:
    """Every table, index, trigger and row in the file, as a second reader finds them."""
    with closing(sqlite3.connect(folder / "queuelog.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return list(connection.iterdump())


def schema(folder: Path) -> list[Any]:
    with closing(sqlite3.connect(folder / "queuelog.db")) as connection:
        return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 2").fetchall()


@pytest.fixture
def running(api: Api) -> Any:
    """Job 1 of shop runs, job 2 of blog waits."""
    api.enqueue()
    api.enqueue("other-producer")
    return api.claim()


@every_text
def test_a_payload_is_stored_as_it_was_sent(tmp_path: Path, api: Api, text: str) -> None:
    before = schema(tmp_path)

    job = api.enqueue(payload={text: text, "list": [text]})

    assert api.get(job)["payload"] == {text: text, "list": [text]}
    assert schema(tmp_path) == before


@every_text
@pytest.mark.parametrize("way", ["body", "header"])
def test_an_idempotency_key_names_its_own_job_and_no_other(
    tmp_path: Path, api: Api, way: str, text: str
) -> None:
    before = schema(tmp_path)
    api.enqueue(idempotency_key="k")
    body = {"type": "email", **({"idempotency_key": text} if way == "body" else {})}
    headers = {"Idempotency-Key": text.encode().decode("latin-1")} if way == "header" else {}

    first = api.call("POST", "/jobs", "producer", body, headers=headers)
    again = api.call("POST", "/jobs", "producer", body, headers=headers)

    assert (first.status_code, json_of(first)["id"]) == (201, 2)
    assert (again.status_code, json_of(again)) == (200, json_of(first))
    assert api.get({"id": 2})["idempotency_key"] == text
    assert schema(tmp_path) == before


@every_text
def test_a_result_is_stored_as_it_was_sent(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = schema(tmp_path)

    api.report("complete", running, result={text: [text]})

    assert api.get(running)["result"] == {text: [text]}
    assert api.get({"id": 2})["status"] == "pending"
    assert schema(tmp_path) == before


@every_text
def test_an_error_is_stored_as_it_was_sent(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = schema(tmp_path)

    api.report("fail", running, error=text)

    assert api.get(running)["error"] == text
    assert api.get({"id": 2})["error"] is None
    assert schema(tmp_path) == before


@every_text
def test_any_other_field_of_a_new_job_refuses_it(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = dump(tmp_path)

    replies = {
        field: api.call("POST", "/jobs", "producer", {"type": "email", field: text})
        for field in FIELDS
    }

    for field, reply in replies.items():
        assert [name for name, _ in faults(reply)] == [field]
    assert dump(tmp_path) == before


@every_text
@pytest.mark.parametrize("path", ["/jobs", "/jobs/claim", "/jobs/1/complete", "/jobs/1/fail"])
def test_a_name_of_a_field_refuses_the_request_and_changes_nothing(
    tmp_path: Path, api: Api, running: Any, path: str, text: str
) -> None:
    before = dump(tmp_path)

    reply = api.call("POST", path, "admin", {"type": "email", text: 1})

    assert (text, "unknown") in faults(reply)
    assert dump(tmp_path) == before


@every_text
def test_any_other_field_of_a_report_or_claim_refuses_it(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = dump(tmp_path)
    said: list[dict[str, Any]] = [{name: text} for name in ("attempt", "retryable")]
    said += [{"retry_in_seconds": text}, {"error_code": f"{text};"}]
    asked: list[dict[str, Any]] = [{"types": [text]}, {"types": text}, {"lease_seconds": text}]

    replies = [api.report("fail", running, **fields) for fields in said]
    replies += [api.call("POST", "/jobs/claim", "worker", fields) for fields in asked]
    replies += [api.report("complete", running, attempt=text)]

    assert {json_of(reply)["code"] for reply in replies} == {"validation-failed"}
    assert dump(tmp_path) == before


@every_text
def test_a_worker_id_in_a_claim_is_not_even_looked_at(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = schema(tmp_path)

    job = api.claim(worker_id=text)

    assert (job["id"], job["worker_id"]) == (2, "mailer")
    assert schema(tmp_path) == before


@every_text
@pytest.mark.parametrize("key", ["producer", "admin"])
def test_a_filter_matches_nothing_more_and_changes_nothing(
    tmp_path: Path, api: Api, running: Any, key: str, text: str
) -> None:
    before = dump(tmp_path)

    replies = [api.call("GET", f"/jobs?{quote(name)}={quote(text)}", key) for name in FILTERS]

    assert all(reply.status_code == 422 or json_of(reply)["jobs"] == [] for reply in replies)
    assert dump(tmp_path) == before


@pytest.mark.parametrize("text", ["sho_", "mail_r", "s--", "shop--", "shop-", "shop_"])
@pytest.mark.parametrize("name", ["producer_id", "worker_id"])
def test_a_well_formed_name_is_compared_and_no_pattern(
    api: Api, running: Any, name: str, text: str
) -> None:
    reply = api.call("GET", f"/jobs?{name}={text}")

    assert json_of(reply) == {"jobs": [], "next_cursor": None}


@every_text
def test_a_cursor_made_by_hand_is_refused(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = dump(tmp_path)
    made = urlsafe_b64encode(f'["{quote(text)}", 1, "x"]'.encode()).decode().rstrip("=")

    reply = api.call("GET", f"/jobs?cursor={made}", "producer")

    assert faults(reply) == [("cursor", "wrong-cursor")]
    assert dump(tmp_path) == before


@every_text
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_is_not_found_and_changes_nothing(
    tmp_path: Path, api: Api, running: Any, method: str, text: str
) -> None:
    before = dump(tmp_path)
    sent = text.encode().decode("latin-1")
    headers = {"X-API-Key": "admin"}

    replies = [
        api.client.open(
            method=method, headers=headers, environ_overrides={"PATH_INFO": p, "REQUEST_URI": p}
        )
        for p in (f"/jobs/{sent}", f"/jobs/1{sent}", f"/jobs/{sent}/complete", f"/{sent}")
    ]

    assert {reply.status_code for reply in replies} == {404}
    assert dump(tmp_path) == before


@every_text
def test_a_key_is_unknown_and_changes_nothing(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = dump(tmp_path)

    reply = api.call("POST", "/jobs/claim", text.encode().decode("latin-1"), {})

    assert_problem(reply, 403, "forbidden")
    assert dump(tmp_path) == before


@every_text
def test_any_other_header_changes_nothing(
    tmp_path: Path, api: Api, running: Any, text: str
) -> None:
    before = dump(tmp_path)
    sent = text.encode().decode("latin-1")
    names = ("X-Request-Id", "X-Worker-Id", "User-Agent", "Cookie", "From")

    reply = api.call("GET", "/jobs", "producer", headers=dict.fromkeys(names, sent))

    assert [job["id"] for job in json_of(reply)["jobs"]] == [1]
    assert dump(tmp_path) == before
