"""Forms in which secrets stand in real error texts: quoted, escaped, under short names."""

import pytest

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
