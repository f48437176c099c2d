"""Forms in which secrets stand in real error texts: quoted, escaped, under short names."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core.redact import redact_error

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
OWN_KEY = "ql_admin_0123456789abcdefghijABCDEFGHIJ0123456789abc_0a1B2c"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"b'stderr:\\n{TOKEN}'", TOKEN),
        (f"'tok\\n{OWN_KEY}'", OWN_KEY),
        (f"%20{OWN_KEY}", OWN_KEY),
        (f"u%3D{TOKEN}", TOKEN),
        ("out\\nAKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ('password: "hunter two words" next', "words"),
        ('passphrase: "correct horse battery staple"', "battery"),
        ("password = 'my pass phrase'", "phrase"),
        ('{\\"password\\": \\"hun ter2\\"}', "ter2"),
        ("denied for AKIAIOSFODNN7EXAMPLEdenied for", "AKIAIOSFODNN7EXAMPLE"),
        ("DB_PASS=hunter2", "hunter2"),
        ('"pass":"hunter2"', "hunter2"),
        ('"smtp_pass": "hunter2"', "hunter2"),
        ('password=""hunter2""', "hunter2"),
        ('password="""hunter2"""', "hunter2"),
        ('"a,""password"":""hunter2"""', "hunter2"),
        ("password=\\nhunter2", "hunter2"),
        ("secret=\\x68unter2", "unter2"),
        ('password="\\"hunter2\\""', "hunter2"),
        ('{"password":"ab\\"cdhunter2"}', "hunter2"),
        ("a\\npass=hunter2", "hunter2"),
        ("x%0Apass=hunter2", "hunter2"),
        ("a\\ntoken=8fhunter2167a", "hunter2"),
        ("password=b'hunter2'", "hunter2"),
        ('password = "hunter2', "hunter2"),
        ("password=" + "hunter2" * 400, "hunter2"),
        ("x" * 300 + " password=hunter2", "hunter2"),
    ],
)
def test_a_secret_is_found_in_every_form(text: str, secret: str) -> None:
    assert secret not in redact_error(text)


@pytest.mark.parametrize(
    "text",
    [
        "first pass: reading header",
        "bypass: true",
        "compass=north",
        "5 tests pass, 1 fails",
        "a quoted 'word' here",
        " \n" * 9000,
    ],
)
def test_what_only_looks_like_one_is_kept(text: str) -> None:
    assert redact_error(text) == text[:1024]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("\x1b[31merror\x1b[0m: disk is full\x1b[K", "error: disk is full"),
        ("\x1b[1m\x1b[38;2;255;0;0mdb\x1b[m \x9b31mdown\x9b0m", "db down"),
        ("\x1b]8;;https://example.com/?a=1&b=2\x1b\\log\x1b]8;;\x1b\\", "log"),
        ("\x1b]0;bash\x07\x1b(B\x1b7\x1b=ready\x1b8", "ready"),
        ("\x1b[31", ""),
        ("b'\\x1b[31mred\\x1b[0m'", "b'red'"),
        ("\\u001b[31mred\\033[0m \\e[32mgreen\\e[0m", "red green"),
        ("\x1b[31mpassword\x1b[0m=\x1b[32mhunter2\x1b[0m ?", "password=[redacted:assignment] ?"),
        ("\x1bghp_0123456789abcdefghijABCD", "[redacted:forge]"),
        ("\x1b ghp_0123456789abcdefghijABCD", " [redacted:forge]"),
    ],
)
def test_of_a_coloured_text_what_a_reader_sees_is_stored(text: str, stored: str) -> None:
    assert redact_error(text) == stored


@settings(print_blob=True, deadline=None)
@given(st.text(st.sampled_from("\x1b\x9b\x07[]8;31mK\\uxe0b9^ a"), max_size=40))
def test_no_escape_character_is_ever_stored(text: str) -> None:
    assert not set("\x1b\x9b") & set(redact_error(text))


@pytest.mark.parametrize(
    "text",
    [
        "'7' does not match ^[[:alpha:]]+$",
        "does not match ^[[0-9]m]+$",
        "rate(jobs_total[5m]) took [30ms]",
        "could not read C:\\etc\\x1\\e.txt",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 can\u200bnot be saved",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "read\nMIIDazCCAlOgAwIBAgIUJ\n-----END CERTIFICATE-----, not a private key",
        "expected a line -----END RSA PRIVATE KEY-----",
    ],
)
def test_what_only_looks_like_a_terminal_sequence_or_a_key_is_kept(text: str) -> None:
    assert redact_error(text) == text
