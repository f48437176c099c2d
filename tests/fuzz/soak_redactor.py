"""The redactor: whatever stands around a secret, it is not stored, and what is stored fits.

Scrubbing twice may take more than scrubbing once: a cut leaves half a word that looks like another
kind, and a mark ends the word in which the next secret was hidden. What holds is that repeating it
comes to rest.
"""

from queuelog_core.redact import (
    ERROR_BYTES_MAX,
    REDACTED_CODE,
    WITHHELD,
    redact_code,
    redact_error,
)
from tests.fuzz.soak_choices import Choices

PASSES_MAX = 16
# By their form these are known anywhere; other secrets are known by what stands before them.
SECRETS = (
    "ql_worker_0123456789abcdefghijABCDEFGHIJ0123456789abc_0a1B2c",
    "ql_admin_iAGh1oddv6JerartXMLjZeoAhOrWVN6BUf3QEqth8if_0qEHf3",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "glpat-0123456789abcdefghij",
    "xoxb-123456789012-abcdefABCDEF",
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "AIzaSyA0123456789abcdefghijABCDEFGHIJ01",
    "npm_0123456789abcdefghijABCDEFGHIJ012345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27u",
)
PADDING = ("x", " ", "x ", "€", "\n", "-", "[", "password=")
# Mostly none; else such that the secret lies across the cut of what is stored, or, behind a block
# that shrinks to a mark, across the cut of what is scrubbed.
PADDED = (*[0] * 60, 800, 800, 800, 16_128)
BLOCK = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----"
# What regular expressions look for gives a fuzzer no coverage to follow, so it starts from all.
CONTEXTS = (
    b"Authorization: Bearer  HTTP/1.1\r\nCookie: sid=1; theme=dark",
    b'{"password": "hunter2", "token": "8f14e45fceea167a"}',
    b"sent Bearer mF_9.B5f-4.1JqM then basic YTpiMTIzNDU2",
    b"mysql --password hunter2 -h db; DB_PASS=hunter2 pass='a b'",
    b"root:hunter2@tcp(db:3306) postgres://app:hunter2@db.internal:5432/prod",
    b"4242 4242 4242 4242 or 123456789:AAF0123456789abcdefghijABCDEFGHIJ01",
    b"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    b'key=\\"a\\nb\\"%3a%2f%2fa%40b&quot;\\u0022\x00\xff',
    b"[redacted:assignment] authorization: Digest [redacted:",
    b"secret_access_key => 'a' api_key:=b session-id==c",
)
SEEDS: tuple[bytes, ...] = (
    *(bytes([n, 0, 0, 0, cut]) + text for n, text in enumerate(CONTEXTS) for cut in (0, 22)),
    *(bytes([n, 60, size, 0, 0]) for n in range(len(SECRETS)) for size in (190, 205)),
    *(bytes([n, 63, 167, 0, 0]) for n in range(len(SECRETS))),
    *(bytes([0, 60, 255, padding, 0]) for padding in range(len(PADDING))),
)
DICTIONARY: tuple[bytes, ...] = (
    *(b"authorization: ", b"cookie: ", b"bearer ", b"basic ", b"password", b"secret_key", b"token"),
    *(b"=", b": ", b"=>", b"%3d", b'"', b"'", b'\\"', b"\\n", b"%20", b"://", b"@", b"--password "),
    *(b"-----BEGIN PRIVATE KEY-----", b"-----", b"[redacted", b"[redacted:x]", b"4242 ", b"\n"),
    *(secret.encode() for secret in SECRETS),
)


def check(data: bytes) -> None:
    """The text around a secret and the secret; raises AssertionError if any of it is stored."""
    choices = Choices(data)
    secret = choices.pick(SECRETS)
    size, padding = choices.pick(PADDED) + choices.number(), choices.pick(PADDING)
    before = padding * (size // len(padding.encode()))
    before = (BLOCK.format(before) if size >= PADDED[-1] else before) + choices.text()
    after = choices.rest().decode(errors="replace")
    _stored(before + after)
    stored = _stored(f"{before} {secret} {after}")
    survived = [half for half in _halves(secret) if half in stored and half not in before + after]
    assert not survived, f"{secret} survived in {stored!r}"


def _stored(text: str) -> str:
    """What is stored of a text: it fits, and scrubbing it again comes to rest."""
    stored = again = redact_error(text)
    assert redact_code(text) == (text if stored == text else REDACTED_CODE)
    for _ in range(PASSES_MAX):
        assert len(again.encode()) <= ERROR_BYTES_MAX
        assert "\0" not in again
        assert WITHHELD not in again or WITHHELD in text
        again, previous = redact_error(again), again
        if again == previous:
            return stored
    raise AssertionError(f"no rest: {again!r}")


def _halves(secret: str) -> list[str]:
    size = -(-len(secret) // 2)
    return [secret[start : start + size] for start in range(len(secret) - size + 1)]
