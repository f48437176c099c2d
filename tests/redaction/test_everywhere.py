"""The whole corpus through the door: no secret is left in a file, a log line or an answer."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.logs import JsonLines
from tests.redaction.corpus import Sample, load
from tests.support.http import Api
from tests.support.logs import listening

SAMPLES = load(
    *("development", "held_out", "fresh", "unseen"),
    *("blind", "blind_again", "blind_third", "terminal"),
)
READERS = ["producer", "worker", "other-worker"]
CODES = ["ghp_{:036d}", "sk_live_{:024d}", "ql_worker_{:043d}", "npm_{:036d}", "4242424242424242"]


class Records(logging.Handler):
    """All that is logged, at every level, as the operator reads it and as it was handed over."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [JsonLines().format(record), str(record.__dict__)]


@pytest.fixture
def records() -> Iterator[Records]:
    records = Records()
    with listening(records, ""):
        yield records


def encodings(run: str) -> set[bytes]:
    """The forms in which a stretch of a text may lie in a file or an answer."""
    once = json.dumps(run)[1:-1]
    return {run.encode(), once.encode(), json.dumps(once)[1:-1].encode()}


def found(sample: Sample, everything: bytes) -> bool:
    """Whether a whole secret, or half of one, lies in these bytes."""
    halves = [secret[: max(6, len(secret) // 2)] for secret in sample.secrets if len(secret) > 6]
    telling = [half for half in halves if half.lower() not in sample.around]
    return any(form in everything for half in telling for form in encodings(half))


def stored_bytes(folder: Path) -> bytes:
    names = {path.name for path in folder.iterdir()}
    assert {"queuelog.db", "queuelog.db-wal"} <= names
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def fail_all(api: Api) -> bytes:
    """One job a text, every other one ended by it: all that the reports were answered."""
    answers = b""
    for number, sample in enumerate(SAMPLES):
        api.enqueue()
        said: dict[str, Any] = {"error": f"control77 {sample.text}", "retryable": number % 2 == 0}
        claimed = api.claim()
        answers += api.report("fail", claimed, **said).data
        answers += api.report("fail", claimed, "other-worker", **said).data
    return answers


def read_all(api: Api, key: str) -> bytes:
    answers, path = b"", "/jobs?limit=200"
    while path:
        reply = api.call("GET", path, key)
        assert reply.status_code == 200
        answers += reply.data
        cursor = reply.get_json().get("next_cursor")
        path = f"/jobs?limit=200&cursor={cursor}" if cursor else ""
    return answers


def test_no_file_log_line_or_answer_holds_a_secret_that_a_worker_reported(
    tmp_path: Path, api: Api, records: Records
) -> None:
    answers = fail_all(api)
    answers += b"".join(read_all(api, key) for key in READERS)
    history = read_all(api, "admin")

    files, logged = stored_bytes(tmp_path), "\n".join(records.lines).encode()

    assert files.count(b"control77") >= len(SAMPLES)
    assert b"control77" in history
    assert b"control77" not in answers
    assert b"control77" not in logged
    assert b"fail" in logged
    for what in (files, logged, answers, history):
        assert [sample.line for sample in SAMPLES if found(sample, what)] == []


def test_a_secret_would_be_seen_if_it_were_stored(tmp_path: Path, api: Api) -> None:
    """The search itself: a payload is kept as it is, so every secret in one is found."""
    for sample in SAMPLES:
        api.enqueue(payload={"text": sample.text})

    files = stored_bytes(tmp_path)

    seen = [sample for sample in SAMPLES if found(sample, files)]
    assert len(seen) > len(SAMPLES) * 0.95


def test_payload_and_result_come_back_byte_for_byte(api: Api) -> None:
    for sample in SAMPLES:
        kept = dumped({"text": sample.text, sample.text: [sample.text]})

        api.call("POST", "/jobs", "producer", raw=b'{"type":"email","payload":%b}' % kept)
        claimed = api.claim()
        path = f"/jobs/{claimed['id']}"
        reply = api.call(
            "POST", f"{path}/complete", "worker", raw=b'{"attempt":1,"result":%b}' % kept
        )

        assert reply.status_code == 200
        for key in ("worker", "admin"):
            job = api.call("GET", path, key).get_json()
            assert [dumped(job["payload"]), dumped(job["result"])] == [kept, kept]


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("form", CODES)
def test_an_error_code_that_holds_a_secret_is_redacted(
    tmp_path: Path, api: Api, records: Records, form: str
) -> None:
    code = form.format(7)
    api.enqueue()

    reply = api.report("fail", api.claim(), error="boom", error_code=code)

    assert reply.get_json()["error_code"] == "redacted"
    logged = "\n".join(records.lines).encode()
    assert code.encode() not in stored_bytes(tmp_path) + logged + reply.data
