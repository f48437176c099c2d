"""V-10: what a worker said of its failure was kept and shown to all; now secrets are gone before
anything is stored or logged, and what is left is for admins."""

import io
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.logs import JsonLines
from tests.support.http import Api, failing, faults
from tests.support.logs import listening

WORD = "hunter2xyzzy"
RUN = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
READERS = ["producer", "worker", "other-worker", "admin"]
# A text, and the part of it that nobody may find again.
SECRETS: dict[str, tuple[str, str]] = {
    "database": (f"could not connect to postgres://app:{WORD}@db.internal/prod", WORD),
    "cache": (f"redis://:{WORD}@cache.internal:6379/0 timed out", WORD),
    "broker": (f"amqp://guest:{WORD}@mq/%2f refused", WORD),
    "driver": (f"root:{WORD}@tcp(db:3306)/prod: access denied", WORD),
    "web address": (f"GET https://ci:{WORD}@git.internal/x.git returned 401", WORD),
    "query": (f"GET https://api.internal/x?access_token={WORD}&a=1 returned 401", WORD),
    "escaped address": (f"url=https%3A%2F%2Fapp%3A{WORD}%40db.internal", WORD),
    "assignment": (f"login failed: password={WORD}", WORD),
    "setting": (f"environ: DB_PASSWORD={WORD} HOME=/root", WORD),
    "quoted": (f"connect(user='app', password='{WORD} {WORD}')", WORD),
    "JSON": (json.dumps({"user": "app", "api_key": WORD}), WORD),
    "JSON in JSON": (json.dumps(json.dumps({"client_secret": WORD})), WORD),
    "yaml": (f"user: app\nsecret_key: {WORD}\n", WORD),
    "header": (f"sent Authorization: Bearer {WORD}", WORD),
    "basic": ("Authorization: Basic " + "YXBwOmh1bnRlcjI=", "YXBwOmh1bnRlcjI"),
    "cookie": (f"Cookie: theme=dark; sid={WORD}; a=b", WORD),
    "option": (f"Command 'mysql --password {WORD} -h db' returned 1", WORD),
    "account key": (f"DefaultEndpointsProtocol=https;AccountKey={RUN}==;x=y", RUN),
    "own key": ("sent ql_worker_" + RUN + "A" * 11 + "_0a1B2c", RUN),
    "jwt": ("token eyJhbGciOiJIUzI1NiJ9." + f"eyJzdWIiOiIxIn0.{RUN}", RUN),
    "cloud key": ("denied for AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    "cloud secret": (f"aws_secret_access_key = {RUN}", RUN),
    "forge": ("remote: ghp_" + RUN + "abcd was refused", RUN),
    "chat": ("xoxb-" + RUN, RUN),
    "payments": ("No such key: sk_live_" + RUN, RUN),
    "search": ("key AIza" + "SyA" + RUN, RUN),
    "model": ("Incorrect API key provided: sk-proj-" + RUN, RUN),
    "registry": ("npm ERR! npm_" + RUN + "abcd", RUN),
    "private key": (
        f"-----BEGIN RSA PRIVATE KEY-----\n{RUN}\n{RUN}\n-----END RSA PRIVATE KEY-----",
        RUN,
    ),
    "card": ("charge of 4242 4242 4242 4242 declined", "4242 4242 4242"),
    "trace": (
        'Traceback:\n  File "/srv/app/db.py", line 4, in connect\n    psycopg.connect('
        f'"postgres://app:{WORD}@db/prod")\nOperationalError: password={WORD}',
        WORD,
    ),
}
CODES = {
    "payments": "sk_live_" + RUN,
    "forge": "ghp_" + RUN + "abcd",
    "own key": "ql_worker_" + RUN + "a" * 11,
    "cloud key": "akia" + "iosfodnn7example",
    "registry": "npm_" + RUN + "abcd",
    "card": "4242" * 4,
}
every_secret = pytest.mark.parametrize("kind", SECRETS)
every_code = pytest.mark.parametrize("kind", CODES)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that the project logs, at every level, as the operator reads it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    with listening(handler):
        yield stream


def fail(api: Api, **said: Any) -> bytes:
    """A failure, its repeat and another's attempt at it: all that was answered."""
    api.enqueue()
    claimed = api.claim()
    replies = [api.report("fail", claimed, key, **said) for key in ("worker", "worker", "admin")]
    assert [reply.status_code for reply in replies] == [200, 200, 409]
    return b"".join(reply.data for reply in replies)


def all_reads(api: Api, key: str) -> bytes:
    paths = ("/jobs/1", "/jobs", "/jobs?status=pending", "/jobs?order=asc", "/stats")
    return b"".join(api.call("GET", path, key).data for path in paths)


def stored_bytes(folder: Path) -> bytes:
    """Every byte of the database, its write-ahead log and whatever else lies there."""
    names = {path.name for path in folder.iterdir()}
    assert {"queuelog.db", "queuelog.db-wal"} <= names
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def holds(raw: bytes, secret: str) -> bool:
    return secret.lower().encode() in raw.lower()


@every_secret
@pytest.mark.parametrize("key", READERS)
def test_no_answer_to_anybody_holds_the_secret_of_an_error(api: Api, key: str, kind: str) -> None:
    text, secret = SECRETS[kind]

    answers = fail(api, error=text) + all_reads(api, key)

    assert not holds(answers, secret)
    assert holds(answers, "[redacted:") == (key == "admin")


@every_secret
def test_neither_the_files_nor_the_log_hold_the_secret_of_an_error(
    tmp_path: Path, api: Api, log: io.StringIO, kind: str
) -> None:
    text, secret = SECRETS[kind]

    fail(api, error=f"control77 {text}")

    raw = stored_bytes(tmp_path)
    assert holds(raw, "control77")
    assert not holds(raw, secret)
    assert "fail" in log.getvalue()
    assert not holds(log.getvalue().encode(), secret)


@every_code
def test_neither_readers_nor_files_nor_the_log_hold_the_secret_of_a_code(
    tmp_path: Path, api: Api, log: io.StringIO, kind: str
) -> None:
    secret = CODES[kind]

    answers = fail(api, error="boom", error_code=secret)

    reads = b"".join(all_reads(api, key) for key in READERS)
    everything = answers + reads + stored_bytes(tmp_path) + log.getvalue().encode()
    assert api.get({"id": 1})["error_code"] == "redacted"
    assert not holds(everything, secret)


@every_secret
def test_later_failures_and_the_end_leave_no_secret_behind(
    tmp_path: Path, api: Api, kind: str
) -> None:
    text, secret = SECRETS[kind]
    fail(api, error=text)

    api.report("fail", api.claim(), error="\n".join([text] * 3))
    api.report("complete", api.claim())

    assert api.get({"id": 1})["status"] == "completed"
    assert not holds(stored_bytes(tmp_path), secret)


@pytest.mark.parametrize("field", ["error_code", "errors", "attempt", "retryable", "error"])
@pytest.mark.parametrize("kind", ["database", "assignment", "header", "private key", "trace"])
def test_a_refused_report_leaves_no_secret_behind(
    tmp_path: Path, api: Api, log: io.StringIO, kind: str, field: str
) -> None:
    text, secret = SECRETS[kind]
    api.enqueue()
    running = api.claim()

    said: Any = {field: [text] if field == "error" else text}
    reply = api.report("fail", running, **said)

    assert [name for name, _ in faults(reply)] == [field]
    left = reply.data + stored_bytes(tmp_path) + log.getvalue().encode()
    assert not holds(left, secret)


@pytest.mark.parametrize("raw", ['{{"error": "{}"', '{{"error": "{}", "error": 1}}', "{}"])
def test_a_broken_report_leaves_no_secret_behind(
    tmp_path: Path, api: Api, log: io.StringIO, raw: str
) -> None:
    api.enqueue()
    api.claim()

    body = raw.format(f"password={WORD}").encode()
    reply = api.call("POST", "/jobs/1/fail", "worker", raw=body)

    assert reply.status_code == 400
    assert not holds(reply.data + stored_bytes(tmp_path) + log.getvalue().encode(), WORD)


@pytest.mark.parametrize("name", ["X-Request-Id", "Idempotency-Key", "X-API-Key", "Cookie"])
@pytest.mark.parametrize("secret", list(CODES.values()))
def test_a_secret_in_a_header_is_not_logged(
    tmp_path: Path, api: Api, log: io.StringIO, secret: str, name: str
) -> None:
    reply = api.call(
        "GET", "/jobs", None if name == "X-API-Key" else "admin", headers={name: secret}
    )

    left = reply.data + str(reply.headers).encode() + log.getvalue().encode()
    assert "request" in log.getvalue()
    assert not holds(left, secret)


@pytest.mark.parametrize("error", [RuntimeError, sqlite3.OperationalError])
def test_a_fault_of_the_server_shows_nobody_the_text_of_a_report(
    api: Api, log: io.StringIO, error: type[Exception]
) -> None:
    broken = Api(failing(api.store, error(f"password={WORD}"), "update"), api.clock)
    api.enqueue()
    running = api.claim()

    reply = broken.report("fail", running, error=f"password={WORD}")

    assert reply.status_code in (500, 503)
    assert not holds(reply.data + log.getvalue().encode(), WORD)


INTERNALS = 'File "/srv/internal77/db.py", line 4: host db.internal77 refused app'


@pytest.mark.parametrize("key", READERS)
@pytest.mark.parametrize("retryable", [True, False])
def test_the_inside_of_a_failure_is_for_admins(api: Api, key: str, retryable: bool) -> None:
    fail(api, error=INTERNALS, retryable=retryable)

    answers = all_reads(api, key)

    assert holds(answers, "internal77") == (key == "admin")


def test_the_next_worker_is_not_told_why_the_last_one_failed(api: Api) -> None:
    fail(api, error=INTERNALS)

    reply = api.call("POST", "/jobs/claim", "other-worker", {})

    assert reply.status_code == 200
    assert not holds(reply.data, "internal77")
