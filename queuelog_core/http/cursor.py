"""Cursors of a list: opaque, bound to the filter they were made for, and refused when altered."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

from queuelog_core.documents import short_digest
from queuelog_core.errors import ValidationFailed, invalid
from queuelog_core.http.rules import INTEGER_MAX
from queuelog_core.stores import Filter, Position


def encode_cursor(position: Position, where: Filter, reader: str) -> str:
    """The text that goes on after `position` in the list that `reader` sees with this filter."""
    text = json.dumps([*position, _seal(position, where, reader)], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, where: Filter, reader: str) -> Position:
    """The position in a cursor. Raises ValidationFailed unless it was made for this list."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        created_at, job_id, seal = json.loads(urlsafe_b64decode(padded.encode("ascii")))
    except (ValueError, TypeError, RecursionError):
        raise _foreign() from None
    position = (created_at, job_id)
    if not all(type(number) is int and abs(number) <= INTEGER_MAX for number in position):
        raise _foreign()
    # The seal is no secret: it tells a cursor of another list from a good one, nothing more.
    if seal != _seal(position, where, reader) or encode_cursor(position, where, reader) != cursor:
        raise _foreign()
    return position


def _seal(position: Position, where: Filter, reader: str) -> str:
    fields = [sorted(v) if isinstance(v, frozenset) else v for v in where]
    return short_digest([*position, reader, *fields])


def _foreign() -> ValidationFailed:
    return invalid("cursor", "wrong-cursor", "This cursor does not belong to this list.")
