"""Bodies: what the strict parser takes is what json.loads takes, less what the contract forbids."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from queuelog_core.documents import compact
from queuelog_core.errors import InvalidJson, ValidationFailed
from queuelog_core.http.bodies import BatchBody, EnqueueBody, RedriveFilter
from queuelog_core.http.routes import ROUTES
from queuelog_core.http.rules import Json, Refused
from queuelog_core.http.schema import parse_body
from queuelog_core.http.strict_json import parse_json

DEPTH_MAX, DIGITS_MAX, FIELD_CHARS_MAX = 64, 4300, 64
SHAPES = tuple(dict.fromkeys(route.body for route in ROUTES if route.body is not None))
SEEDS: tuple[bytes, ...] = (
    b'{"type":"email","payload":{"to":"ada","n":[1,-2.5e3,true,null]},"priority":"HIGH"}',
    b'{"type":"email","max_retries":25,"idempotency_key":"k","run_at":"2026-11-29T12:00:00.5+01:00"}',
    b'{"type":"pdf","delay_seconds":31536000,"payload":null}',
    b'{"types":["email","pdf"],"lease_seconds":60,"worker_id":7}',
    b'{"worker_id":null,"\xc3\xa9":1}',
    b'{"attempt":9007199254740991,"result":["\xc3\xa9","\\ud83d\\ude00","\\u0000\\n\\"\\\\/"]}',
    b'{"attempt":1,"error":"smtp down","error_code":"smtp_down","retry_in_seconds":86400}',
    b'{"retryable":false,"retry_in_seconds":1,"error_code":"lease_expired"}',
    b'{"attempt":1,"extend_seconds":43200}',
    b'{"attempt":2,"delay_seconds":0}',
    b'{"types":["email"],"limit":25}',
    b'{"jobs":[{"type":"email","payload":{"n":1}},{"type":7},{"type":"pdf","x":1},[],null]}',
    b'{"filter":{"status":"failed","type":"email","error_code":"boom"},"limit":200}',
    b'{"filter":{"status":null,"created_after":"2026-11-29T12:00:00Z"},"dry_run":true}',
    b'{"filter":{},"all":true,"limit":1}',
    *(
        b'{"a":1,"\\u0061":2}',
        b'{"a":NaN}',
        b"[-Infinity]",
        b"[1e400]",
        b'["\\ud800x"]',
        b"[1.0e-9]",
    ),
    *(b'{"v":' + b"9" * (DIGITS_MAX + 1) + end for end in (b"}", b"} x")),
    b"[" * (DEPTH_MAX + 1) + b"-0.0" + b"]" * (DEPTH_MAX + 1),
    b"[" * DEPTH_MAX + b'{"a":1,"a":1}' + b"]" * DEPTH_MAX,
    b'\xef\xbb\xbf{"type":"\xff"}',
    b'"' + b"\\[{" * 99,
)
DICTIONARY: tuple[bytes, ...] = (
    *(b'{"', b'":', b'","', b"[[[[[[[[", b"]]]]]]]]", b"{}", b'"\\u', b"\\ud800", b"\\udc00"),
    *(b"NaN", b"Infinity", b"-", b"1e400", b"1e-400", b"null", b"true", b"999999999999999999"),
    *(b'"a":1,"a":2', b"\\\\", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\x7f", b"9" * 99),
    *(
        f'"{field}":'.encode()
        for shape in (*SHAPES, RedriveFilter)
        for field in shape.__annotations__
    ),
)


def check(body: bytes) -> None:
    """The body gets just the answer that the contract names; raises AssertionError if not."""
    status, value = _expected(body)
    try:
        parsed = parse_json(body)
    except (InvalidJson, ValidationFailed) as error:
        assert error.status == status, f"{error.status} where {status} is right"
        return
    assert status == 200, f"accepted where {status} is right"
    assert repr(parsed) == repr(value)
    _check_document(parsed)
    for shape in SHAPES:
        _check_shape(shape, parsed)


def _expected(body: bytes) -> tuple[int, Any]:
    """Status and value: what Python's reader takes, and then a walk over all that it lets pass."""
    try:
        with _deep_recursion():
            value = _READER.decode(body.decode())
    except ValueError:
        return 400, None
    statuses = {_judged(depth, item) for depth, item in _walk(value)}
    return min(statuses - {200}, default=200), value


def _judged(depth: int, item: Any) -> int:
    halves = isinstance(item, str) and any("\ud800" <= char <= "\udfff" for char in item)
    if item is _NOT_JSON or halves:
        return 400
    too_deep = depth + isinstance(item, dict | list) > DEPTH_MAX
    return 422 if item is _TOO_LONG or too_deep else 200


def _integer(digits: str) -> Any:
    return int(digits) if len(digits.lstrip("-")) <= DIGITS_MAX else _TOO_LONG


def _number(digits: str) -> Any:
    return float(digits) if math.isfinite(float(digits)) else _NOT_JSON


def _members(pairs: list[tuple[str, Any]]) -> Any:
    return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else _NOT_JSON


_NOT_JSON, _TOO_LONG = object(), object()
_READER = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_constant=lambda _: _NOT_JSON,
    parse_float=_number,
    parse_int=_integer,
)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """For the reader that is compared with; the product has to do with the usual limit."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def _walk(value: Any) -> Iterator[tuple[int, Any]]:
    """Every value and name with the number of lists and objects around it."""
    waiting = [(0, value)]
    while waiting:
        depth, item = waiting.pop()
        yield depth, item
        inner = item.items() if isinstance(item, dict) else [item] if isinstance(item, list) else []
        waiting += [(depth + 1, part) for parts in inner for part in parts]


def _measured(value: Any) -> int:
    """The bytes of compact UTF-8 JSON, counted by hand."""
    if isinstance(value, dict):
        inner = sum(_measured(name) + 1 + _measured(item) for name, item in value.items())
        return inner + 2 + max(0, len(value) - 1)
    if isinstance(value, list):
        return sum(map(_measured, value)) + 2 + max(0, len(value) - 1)
    if isinstance(value, str):
        return 2 + sum(map(_measured_char, value))
    return 4 if value is None else len(repr(value))


def _measured_char(char: str) -> int:
    if char in '"\\\b\f\n\r\t':
        return 2
    return 6 if char < " " else len(char.encode())


def _check_document(value: Any) -> None:
    text = compact(value)
    size = _measured(value)
    assert len(text.encode()) == size
    assert repr(parse_json(text.encode())) == repr(value)
    assert Json(size).check(value).text == text
    try:
        Json(size - 1).check(value)
    except Refused as refused:
        assert refused.code == "too-large"
    else:
        raise AssertionError("a document passed that is a byte too large")


def _check_shape(shape: type[Any], value: Any) -> Any:
    """What is read, or what is wrong with it."""
    try:
        read: Any = parse_body(shape, value)
    except ValidationFailed as error:
        assert error.errors
        names = [fault.field.removeprefix("filter.") for fault in error.errors]
        assert all(len(name) <= FIELD_CHARS_MAX for name in names)
        return error.errors
    assert set(value) <= set(shape.__annotations__), "an unknown field was accepted"
    if shape is BatchBody:
        items = [item.errors if isinstance(item, ValidationFailed) else item for item in read.jobs]
        assert items == [_check_shape(EnqueueBody, item) for item in value["jobs"]]
        return read
    assert read == parse_body(shape, {name: v for name, v in value.items() if v is not None})
    for name in ("payload", "result"):
        document = getattr(read, name, None)
        assert document is None or repr(document.value) == repr(value[name])
    if getattr(read, "filter", None) is not None:
        assert read.filter == _check_shape(RedriveFilter, value["filter"])
    return read
