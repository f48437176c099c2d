"""JSON documents of the users: kept as compact text, measured in bytes, compared by content."""

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any, NamedTuple

# Made once: json.dumps makes an encoder for each call that names separators.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_sorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


class Document(NamedTuple):
    """A parsed value and its compact text, which is what is stored and measured."""

    value: Any
    text: str


def compact(value: Any) -> str:
    """The stored form: no blanks, characters as they are, keys in their order."""
    return _encode(value)


def content_digest(value: Any) -> bytes:
    """SHA-256 of the compact form with sorted keys: equal for equal content in any key order."""
    return hashlib.sha256(_encode_sorted(value).encode()).digest()


def short_digest(value: Any) -> str:
    """Sixteen characters of the content digest (96 bits)."""
    return urlsafe_b64encode(content_digest(value)[:12]).decode()
