"""Secrets out of error texts and codes: scrubbed first, cut after, and never half of one left."""

import logging
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core.identity import Role, generate_key
from queuelog_core.redact import cut, redact_code, redact_error, scrub
from queuelog_core.redact_rule import Rule
from queuelog_core.redact_rules import RULES

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
print_blob = settings(print_blob=True, deadline=None)
SCRUBBED_BYTES, STORED_BYTES = 16_384, 1_024
# A block of this kind shrinks to a few bytes, which brings what follows it before the cut.
BLOCK = ("-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n")


def secret_of(rule: Rule) -> str:
    """The part of a rule's example that must go."""
    (start, end), *_ = rule.spans(rule.example, rule.example.lower())
    return rule.example[start:end]


def half_survives(secret: str, text: str) -> bool:
    size = -(-len(secret) // 2)
    return any(secret[start : start + size] in text for start in range(len(secret) - size + 1))


def block_of(size: int) -> str:
    start, end = BLOCK
    return start + "x" * (size - len(start) - len(end)) + end


@every_rule
@pytest.mark.parametrize("frame", ["{}", "it broke: {} and more", "a\n{}\nb", '{{"why": "{}"}}'])
def test_a_rule_catches_its_example_wherever_it_stands(rule: Rule, frame: str) -> None:
    scrubbed = redact_error(frame.format(rule.example))

    assert not half_survives(secret_of(rule), scrubbed)
    assert "[redacted:" in scrubbed


@every_rule
def test_a_rule_catches_its_example_by_itself(rule: Rule) -> None:
    assert f"[redacted:{rule.name}]" in scrub(rule.example, (rule,))


@every_rule
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.95])
def test_half_a_secret_does_not_survive_the_cut(rule: Rule, share: float) -> None:
    inside = round(len(rule.example) * share)
    text = "x" * (STORED_BYTES - inside - 1) + " " + rule.example + " and more"

    assert not half_survives(secret_of(rule), redact_error(text))


@every_rule
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.95])
def test_half_a_secret_does_not_survive_the_bound_of_what_is_scrubbed(
    rule: Rule, share: float
) -> None:
    inside = round(len(rule.example) * share)
    text = block_of(SCRUBBED_BYTES - inside) + rule.example + " and more"

    assert not half_survives(secret_of(rule), redact_error(text))


def test_half_a_very_long_secret_does_not_survive_the_bound_of_what_is_scrubbed() -> None:
    text = block_of(SCRUBBED_BYTES - 800) + f"postgres://app:{'hunter2' * 200}@db/prod"

    assert "hunter2" not in redact_error(text)


@pytest.mark.parametrize("role", Role)
def test_a_key_of_our_own_is_caught(role: Role) -> None:
    assert redact_error(f"sent {generate_key(role)}") == "sent [redacted:queuelog-key]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=hunter2", "password=[redacted:assignment]"),
        ('{"PASSWORD": "hunter2"}', '{"PASSWORD": "[redacted:assignment]"}'),
        ("GET https://a:b@db.internal/x", "GET https://[redacted:url-userinfo]db.internal/x"),
        ("Authorization: Bearer abcdefgh1", "Authorization: Bearer [redacted:authorization]"),
    ],
)
def test_what_stands_around_a_secret_is_kept(text: str, expected: str) -> None:
    assert redact_error(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "connection refused: db.internal:5432",
        "ConnectionError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries",
        "GET https://api.example.com/v1/jobs?limit=50&order=desc returned 503",
        "KeyError: 'user_id'",
        "ValueError: invalid literal for int() with base 10: 'abc'",
        'File "/srv/app/handlers/email.py", line 42, in send',
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/report-2026-11-29.pdf'",
        "ada@example.com bounced: 550 5.1.1 mailbox unavailable",
        "the password is wrong",
        "token expired",
        "authentication failed for user app",
        "order 4242424242424241 not found",
        "job 9007199254740991 timed out after 300.5 s",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 not found",
        "id 123e4567-e89b-12d3-a456-426614174000 is unknown",
        "2026-11-29T12:00:00.000Z worker mailer lost its lease",
        "caf\u00e9 \u2603 \U0001f600 \u5bc6\u6587",
        "a\tb\nc",
    ],
)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert redact_error(text) == text


def test_a_text_with_nul_is_stored_with_the_replacement_character() -> None:
    """B02: NUL in an error text makes the update fail, and the job runs for ever."""
    assert redact_error("boom\0x") == "boom\ufffdx"


def test_nul_is_replaced_before_the_cut() -> None:
    stored = redact_error("\0" * STORED_BYTES)

    assert stored == "\ufffd" * (STORED_BYTES // 3)


@print_blob
@given(st.text(st.characters(codec="utf-8")), st.integers(0, 60))
def test_a_cut_is_the_longest_beginning_of_whole_characters(text: str, bytes_max: int) -> None:
    kept = cut(text, bytes_max)

    assert text.startswith(kept)
    assert len(kept.encode()) <= bytes_max
    assert kept == text or len(text[: len(kept) + 1].encode()) > bytes_max


@pytest.mark.parametrize("blank", [" ", "\n"])
def test_a_long_text_of_blanks_is_no_fault_of_the_rules(blank: str) -> None:
    assert set(redact_error(blank * 20_000)) <= {blank}


@pytest.mark.parametrize("char", ["x", "\u00e9", "\u20ac", "\U0001f600", "\0"])
def test_an_error_text_is_at_most_a_kilobyte_of_whole_characters(char: str) -> None:
    """B50: an oversized error text breaks the failure itself."""
    stored = redact_error("-" + char * 300_000)

    assert STORED_BYTES - 4 < len(stored.encode()) <= STORED_BYTES
    assert set(stored[1:]) == {char.replace("\0", "\ufffd")}


BUSY = ["password", "password=", "a:", "://", "://a@", "eyJ", "cookie:", "bearer ", "3 ", "pat"]
BUSY += ["-----BEGIN PRIVATE KEY-----", "authorization:", "%3a%2f%2f", "sk-", "--password ", "x."]


@pytest.mark.parametrize("piece", BUSY)
def test_a_text_made_to_keep_the_rules_busy_is_scrubbed_at_once(piece: str) -> None:
    """B50: naive rules took 34 s on 64 kB of one word."""
    text = piece * (65_536 // len(piece))
    started = time.process_time()

    redact_error(text)

    assert time.process_time() - started < 2


def break_down(_: str) -> bool:
    raise ZeroDivisionError("hunter2")


def test_a_rule_that_fails_gives_a_fixed_text_and_a_log_line_without_the_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = Rule("broken", "hunter2", "hunter2", accept=break_down)

    stored = redact_error("the word is hunter2", (broken,))

    assert stored == "[error text withheld: it could not be scrubbed]"
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "redactor-failed")
    assert "hunter2" not in str(record.__dict__)


def test_a_text_that_utf_8_cannot_carry_gives_the_fixed_text() -> None:
    assert redact_error("caf\udce9") == "[error text withheld: it could not be scrubbed]"


@pytest.mark.parametrize("code", ["smtp_refused", "password_expired", "http_503", "a", "x" * 64])
def test_a_code_without_secrets_stays_as_it_is(code: str) -> None:
    assert redact_code(code) == code


@pytest.mark.parametrize(
    "code",
    [
        "ghp_0123456789abcdefghijabcdefghij012345",
        "sk_live_" + "4ec39hqlyjwdarjtt1zdp7dc",
        "akiaiosfodnn7example",
        "4242424242424242",
        "ql_worker_0123456789abcdefghij",
    ],
)
def test_a_code_that_is_a_secret_becomes_redacted(code: str) -> None:
    assert redact_code(code) == "redacted"


def test_a_code_becomes_redacted_when_the_rules_fail() -> None:
    broken = Rule("broken", "smtp", "smtp", accept=break_down)

    assert redact_code("smtp", (broken,)) == "redacted"


@every_rule
def test_the_needles_of_a_rule_are_lower_case_and_one_is_in_its_example(rule: Rule) -> None:
    assert all(needle == needle.lower() for needle in rule.needles)
    assert not rule.needles or any(needle in rule.example.lower() for needle in rule.needles)
