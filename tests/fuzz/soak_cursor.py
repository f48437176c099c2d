"""Cursors: one that was not made for this list is refused, one that was is read back exactly."""

import json
from base64 import urlsafe_b64encode
from typing import Any

from queuelog_core.errors import ValidationFailed
from queuelog_core.http.cursor import decode_cursor, encode_cursor
from queuelog_core.http.rules import INTEGER_MAX
from queuelog_core.job import Priority, Status
from queuelog_core.stores import Filter, Position
from tests.fuzz.soak_choices import Choices
from tests.support.factories import NOON

READER = "root"
PLACE = (NOON, 7)
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "status": (None, *Status),
    "type": (None, "email", "pdf"),
    "priority": (None, *Priority),
    "producer_id": (None, "shop", "email"),
    "worker_id": (None, "mailer", "shop"),
    "created_after": (None, 0, NOON),
    "created_before": (None, NOON, NOON + 1),
    "types": (None, frozenset(), frozenset({"email"}), frozenset({"email", "pdf"})),
    "newest_first": (True, False),
}
SEEDS: tuple[bytes, ...] = (
    bytes(9) + encode_cursor(PLACE, Filter(), READER).encode(),
    b"\x01\x01\x02\x01\x01\x01\x01\x02\x01" + b"[1795953600000,7]",
    bytes(9) + b"[-9007199254740991,9007199254740991]",
    bytes(9) + b"[9007199254740992,1]",
    bytes(9) + b"[true,1.0]",
    bytes(9) + b'["1",null]',
    bytes(9) + b'[[1],{"a":2}]',
    bytes(9) + b"[NaN,1e400]",
    *(bytes(9) + text for text in (b"[1,2,3]", b"7", b"null", b'"abc"', b"=", b"\n", b"")),
    bytes(9) + b"[" * 2000,
    bytes(9) + "é_-+/==\ud800".encode("utf-8", "surrogatepass"),
)
DICTIONARY: tuple[bytes, ...] = (
    *(b"[", b"]", b",", b'"', b"-", b"=", b"==", b"_", b"+", b"/", b"null", b"true", b"NaN"),
    *(b"WzE3OTU5NTM2MDAwMDAsNyw", b"9007199254740992", b"1e3", b"1.0", b"\xc3\xa9", b"\n", b" "),
)


def check(data: bytes) -> None:
    """Nine bytes choose the filter, the rest is a cursor; AssertionError if it is misread."""
    choices = Choices(data)
    where = Filter(**{name: choices.pick(options) for name, options in _OPTIONS.items()})
    sent = choices.rest()
    texts = [sent.decode("utf-8", "surrogateescape"), sent.decode("latin-1")]
    good = encode_cursor(PLACE, where, READER)
    for text in [*texts, urlsafe_b64encode(sent).decode().rstrip("=")]:
        for cursor in (text, good + text, text + good):
            _check_read(cursor, where)
    _check_forged(sent, where)
    _check_bound(PLACE, where)


def _check_read(cursor: str, where: Filter) -> Position | None:
    """A refusal that names the field, or a place whose cursor is just this one."""
    try:
        place = decode_cursor(cursor, where, READER)
    except ValidationFailed as error:
        assert [(fault.field, fault.code) for fault in error.errors] == [("cursor", "wrong-cursor")]
        return None
    assert encode_cursor(place, where, READER) == cursor
    assert all(type(number) is int and abs(number) <= INTEGER_MAX for number in place)
    return place


def _check_forged(sent: bytes, where: Filter) -> None:
    """The seal is no secret, so a caller may seal whatever JSON can hold."""
    try:
        place = json.loads(sent)
        cursor = encode_cursor(place, where, READER)
    except (ValueError, TypeError, RecursionError):
        return
    read = _check_read(cursor, where)
    usable = len(place) == 2 and all(
        type(number) is int and abs(number) <= INTEGER_MAX for number in place
    )
    assert (read is not None) == usable
    if usable:
        _check_bound(tuple(place), where)


def _check_bound(place: Position, where: Filter) -> None:
    """It is read in its own list and in no other."""
    cursor = encode_cursor(place, where, READER)
    assert _check_read(cursor, where) == place
    for name in Filter._fields:
        for option in _OPTIONS[name]:
            other = where._replace(**{name: option})
            assert other == where or _check_read(cursor, other) is None, name
    try:
        decode_cursor(cursor, where, "shop")
    except ValidationFailed:
        return
    raise AssertionError("another reader's cursor was taken")
