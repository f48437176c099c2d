"""Keys: whoever sends anything but an issued, living key, byte for byte, is nobody."""

import atexit
import functools
import hashlib
import json
import tempfile
from pathlib import Path

from queuelog_core.errors import Forbidden, Unauthorized
from queuelog_core.http.app import Identify
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.identity import KeyRecord, Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from tests.fuzz.soak_choices import Choices
from tests.support.factories import NOON, FakeClock, FakeSeconds

# Written out, so that a corpus that was kept still holds them.
ISSUED = {
    "shop": "ql_producer_WWpqzTaDOwArQldjiQTI3sQXI35q9BmKTbsKueAt6ce_2bj8p0",
    "root": "ql_admin_BAAp3W1UI5yvASkOcATM3qazqAu9Q0U0CfxlfUBn0MP_4Agu7I",
    "gone": "ql_worker_iAGh1oddv6JerartXMLjZeoAhOrWVN6BUf3QEqth8if_0qEHf3",
    "late": "ql_worker_ROyGykkcMEy6hCsmmt20ZxhTRjlq2pgK2pS7nlDb61Z_2FqC4L",
}
LIVE = {ISSUED[name]: name for name in ("shop", "root")}
STRANGER = b"ql_worker_ku5z5XJUPYgzw5f4Z6qrH3B0dWwVimr6CS6XTkV4WRp_0soETK"
KEYS = tuple(key.encode() for key in ISSUED.values())
SEEDS: tuple[bytes, ...] = (
    *(bytes(3) + key for key in (*KEYS, STRANGER)),
    *(
        bytes([number, 20, 2]) + text
        for number, text in enumerate((b" ", b"\t\0", b"\xc2\xa0", b"_"))
    ),
    bytes(3),
    bytes(3) + "“clé”".encode(),
    bytes(3) + b"\xff" * 300,
    bytes(3) + KEYS[0] * 40,
    bytes(3) + KEYS[0] + b"," + KEYS[1],
)
DICTIONARY: tuple[bytes, ...] = (
    *(b"ql_", b"_producer_", b"_worker_", b"_admin_", b" ", b"\t", b"\r\n", b"\0", b",", b'"'),
    *(
        b"\xc2\xa0",
        b"\xe2\x80\x8b",
        b"\xef\xbd\x91",
        b"Bearer ",
        *KEYS,
        *(key[-7:] for key in KEYS),
    ),
)


def check(data: bytes) -> None:
    """Bytes as a header, as the end of a key, and inside one; AssertionError if they let in."""
    choices = Choices(data)
    key, start, cut = choices.pick(KEYS), choices.number(), choices.number()
    sent = choices.rest()
    start %= len(key) + 1
    for header in (sent, sent + key, key + sent, key[:start] + sent + key[start + cut :]):
        _check_header(header.decode("latin-1"))
        _check_header(header.decode("utf-8", "replace"))


def _check_header(header: str) -> None:
    try:
        identity = _identify()({"HTTP_X_API_KEY": header})
    except Unauthorized:
        assert header == "", "only a missing key is 401"
        return
    except Forbidden:
        assert header and header not in LIVE, "an issued key was refused"
        return
    assert header in LIVE, f"{header!r} was let in"
    assert identity.name == LIVE[header]


@functools.cache
def _identify() -> Identify:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name, "keys.json")
    records = [_record(name, key).to_json() for name, key in ISSUED.items()]
    path.write_text(json.dumps({"version": 1, "keys": records}), "utf-8")
    return identify_by_key(FileRegistry(path, FakeClock(), FakeSeconds()))


def _record(name: str, key: str) -> KeyRecord:
    return KeyRecord(
        id=f"key_{name}",
        name=name,
        role=Role(key.split("_")[1]),
        digest=hashlib.sha256(key.encode()).hexdigest(),
        priority_max=Priority.HIGH,
        types=None,
        created_at=NOON - 1,
        expires_at=NOON if name == "late" else None,
        revoked_at=NOON if name == "gone" else None,
    )
