"""Bad lines among good ones: `jobs import` and `enqueue TYPE -`."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.system.cli_scene import Here, json_lines

GOOD = b'{"type": "email"}'
DEEP = b'{"type": "email", "payload": ' + b'{"a":' * 63 + b"{}" + b"}" * 64
BAD_LINES: Sequence[tuple[str, bytes]] = [
    ("names no type", b'{"payload": {}}'),
    ("names no type", b'{"type": 5}'),
    ("allowlist", b'{"type": "nope"}'),
    ("object", b"[1]"),
    ("JSON", b"{"),
    ("JSON", b"nonsense \x1b[31m"),
    ("UTF-8", b'{"type": "\xff"}'),
    ("NaN", b'{"type": "email", "payload": {"n": NaN}}'),
    ("large", b'{"type": "email", "payload": {"n": 1e400}}'),
    ("digits", b'{"type": "email", "payload": {"n": ' + b"9" * 5000 + b"}}"),
    ("twice", b'{"type": "email", "payload": {"n": 1, "n": 2}}'),
    ("surrogate", b'{"type": "email", "payload": {"n": "\\ud800"}}'),
    ("deeper", DEEP),
    ("deeper", b'{"type": "email", "payload": ' + b'{"a":' * 985 + b"1" + b"}" * 986),
    ("deeper", b"[" * 100_000 + b"]" * 100_000),
    ("bytes", b'{"type": "email", "payload": {"n": "' + b"x" * 70_000 + b'"}}'),
    ("1048576", b'{"type": "email", "payload": {"n": "' + b"x" * 1_100_000 + b'"}}'),
    ("object", b'{"type": "email", "payload": "x"}'),
    ("one of", b'{"type": "email", "priority": "urgent"}'),
    ("25", b'{"type": "email", "max_retries": 26}'),
    ("year", b'{"type": "email", "run_at": "2035-01-01T00:00:00Z"}'),
    ("zone", b'{"type": "email", "run_at": "2026-12-01T00:00:00"}'),
    ("isoformat", b'{"type": "email", "run_at": "\\u001b[31m"}'),
    ("isoformat", b'{"type": "email", "run_at": 5}'),
    ("isoformat", b'{"type": "email", "run_at": false}'),
    ("isoformat", b'{"type": "email", "run_at": ""}'),
    ("isoformat", b'{"id": 7, "type": "email", "run_at": 0}'),
    ("no job has a delay", b'{"type": "email", "payload": {}, "delay": 3600}'),
    ("no job has a Payload", b'{"type": "email", "Payload": {}}'),
    ("no job has a prio, wait", b'{"id": null, "type": "email", "wait": 1, "prio": "high"}'),
    ("id", b'{"id": false, "type": "email", "delay": 3600}'),
    ("id", b'{"id": "7", "type": "email"}'),
    ("status", b'{"type": "email", "status": "Pending"}'),
    ("status", b'{"type": "email", "status": false}'),
    ("integer", b'{"type": "email", "max_retries": true}'),
    ("integer", b'{"type": "email", "delay_seconds": "3600"}'),
    ("both", b'{"type": "email", "delay_seconds": 5, "run_at": "2026-12-01T00:00:00Z"}'),
    ("idempotency_key", b'{"type": "email", "idempotency_key": false}'),
    ("idempotency_key", b'{"type": "email", "idempotency_key": 5}'),
    ("255", b'{"type": "email", "idempotency_key": "' + b"k" * 256 + b'"}'),
]


@pytest.mark.parametrize(("words", "line"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_told_by_its_number_and_stops_no_other(
    here: Here, words: str, line: bytes
) -> None:
    done = here("jobs", "import", stdin=b"\n".join([GOOD, b"", line, GOOD]))

    assert (done.exit_code, done.stdout) == (1, "1\n2\n")
    refused, counted, told = done.stderr.splitlines()
    assert refused.startswith("error: line 3: ")
    assert words in refused
    assert refused.isprintable()
    assert counted == "2 enqueued"
    assert told == "error: lines refused: 1; the others are enqueued"


@pytest.mark.parametrize(
    ("key", "line", "code"),
    [
        ("email-producer", {"type": "pdf"}, "type"),
        ("low-producer", {"type": "email", "priority": "high"}, "priority"),
    ],
)
def test_a_line_that_the_key_may_not_enqueue_stops_no_other(
    here: Here, key: str, line: Any, code: str
) -> None:
    done = here(
        "jobs", "import", key=key, stdin=json_lines({"type": "email"}, line, {"type": "email"})
    )

    assert (done.exit_code, done.stdout) == (1, "1\n2\n")
    assert done.stderr.startswith("error: line 2: ")
    assert code in done.stderr.splitlines()[0]


@pytest.mark.parametrize("depth", [62, 63, 64, 300, *range(940, 1000, 3)])
def test_a_payload_on_stdin_may_be_as_deep_as_any_other(here: Here, depth: int) -> None:
    nested = '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)

    done = here("enqueue", "email", "-", stdin=f"{{}}\n{nested}\n{{}}\n")

    assert len(done.stdout.splitlines()) == (3 if depth <= 63 else 2), done.stderr
    assert ("line 2" in done.stderr) == (depth > 63)


def test_the_lines_of_stdin_enqueued_again_under_their_key_make_no_job_twice(here: Here) -> None:
    lines = json_lines(*({"n": n} for n in range(120)))
    command = ("enqueue", "email", "-", "--idempotency-key", "monday", "--json")

    made = here.lines(*command, stdin=lines)
    again = here.lines(*command, stdin=lines + json_lines({"n": 120}))

    assert [told["line"] for told in made] == list(range(1, 121))
    assert [told["id"] for told in again[:120]] == [told["id"] for told in made]
    assert [told["replayed"] for told in again] == [True] * 120 + [False]
    assert len(here.lines("jobs", "export")) == 121
    other = here(*command, stdin=json_lines({"n": "other"}))
    assert (other.exit_code, other.stdout) == (1, "")
    assert "line 1: its idempotency key names another job" in other.stderr
