"""What counts as JSON in a body, and what is refused before anything is stored."""

import json

import pytest
from werkzeug.test import TestResponse

from tests.support.http import Api, assert_problem, faults, json_of

DIGITS_MAX = 4300


def payload(text: str) -> bytes:
    return f'{{"type":"email","payload":{text}}}'.encode()


def nested(depth: int, inner: str = "") -> str:
    """A payload such that the body is nested `depth` levels: two objects, then lists."""
    return '{"a":' + "[" * (depth - 2) + inner + "]" * (depth - 2) + "}"


def send(api: Api, raw: bytes) -> TestResponse:
    return api.call("POST", "/jobs", "producer", raw=raw)


def stored(api: Api) -> int:
    return len(json_of(api.call("GET", "/jobs"))["jobs"])


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b" ",
        b'{"type":"email",}',
        b"{'type':'email'}",
        b'{"type":"email"} x',
        b'{"type":"email"}{"type":"email"}',
        b'{"type":"email"/* why */}',
        b'{"type":"em\nail"}',
        b'{"type":"em\0ail"}',
        b'{"type":"em\\xail"}',
        payload('{"a":01}'),
        payload('{"a":+1}'),
        payload('{"a":.5}'),
        payload('{"a":True}'),
    ],
)
def test_a_body_that_is_no_json_is_refused(api: Api, raw: bytes) -> None:
    reply = send(api, raw)

    assert_problem(reply, 400, "invalid-json")
    assert stored(api) == 0


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"email","payload":{"a":"\xff"}}',
        b'{"type":"email","payload":{"a":"\xed\xa0\x80"}}',
        b'{"type":"email","payload":{"a":"\xc0\x80"}}',
        '{"type":"email"}'.encode("utf-16"),
        '{"type":"email"}'.encode("utf-16-le"),
        b'\xef\xbb\xbf{"type":"email"}',
    ],
    ids=["stray byte", "surrogate in UTF-8", "overlong", "UTF-16", "UTF-16 without a mark", "BOM"],
)
def test_a_body_that_is_not_plain_utf8_is_refused(api: Api, raw: bytes) -> None:
    reply = send(api, raw)

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"email","priority":"low","priority":"critical","payload":{}}',
        b'{"type":"email","type":"email"}',
        b'{"type":"email","typ\\u0065":"pdf"}',
        payload('{"a":1,"a":2}'),
        payload('{"a":[{"b":{"c":1,"c":1}}]}'),
        payload(nested(70, '{"a":1,"a":1}')),
    ],
)
def test_a_key_named_twice_is_refused_at_any_depth(api: Api, raw: bytes) -> None:
    """B03: two layers must not see two requests in one body."""
    reply = send(api, raw)

    assert_problem(reply, 400, "invalid-json")
    assert stored(api) == 0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1E+400"])
def test_a_number_that_json_cannot_hold_is_refused(api: Api, number: str) -> None:
    """B04: accepted once, it would make every later answer unreadable."""
    reply = send(api, payload(f'{{"v":[{number}]}}'))

    assert_problem(reply, 400, "invalid-json")
    assert stored(api) == 0


@pytest.mark.parametrize(
    "half", [r"\ud800", r"\udc00", r"\udc00\ud800", r"\ud800\u0041", r"\uD800x"]
)
@pytest.mark.parametrize("place", ['{{"a":"{}"}}', '{{"{}":1}}', '{{"a":[["{}"]]}}'])
def test_a_lone_surrogate_is_refused(api: Api, half: str, place: str) -> None:
    reply = send(api, payload(place.format(half)))

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.parametrize("raw", [b"null", b"[]", b"3", b'"x"', b"true", b'[{"type":"email"}]'])
def test_a_body_that_is_no_object_is_refused_by_the_schema(api: Api, raw: bytes) -> None:
    """B41: it is JSON, but no request."""
    reply = send(api, raw)

    assert faults(reply) == [("", "wrong-type")]


def test_an_empty_body_reads_as_an_empty_object(api: Api) -> None:
    """B41: for an enqueue that is an object without its type."""
    reply = api.call("POST", "/jobs", "producer")

    assert faults(reply) == [("type", "missing")]


def test_a_body_nested_64_deep_is_accepted(api: Api) -> None:
    reply = send(api, payload(nested(64)))

    assert reply.status_code == 201
    assert json_of(reply)["payload"] == json.loads(nested(64))


@pytest.mark.parametrize("depth", [65, 100, 1000, 2000, 30_000])
def test_a_body_nested_deeper_than_64_is_refused(api: Api, depth: int) -> None:
    """B05: one fixed limit, not the interpreter's."""
    reply = send(api, payload(nested(depth)))

    assert faults(reply) == [("", "too-deep")]


def test_objects_count_as_nesting_as_lists_do(api: Api) -> None:
    accepted = send(api, payload('{"a":' * 63 + "1" + "}" * 63))
    refused = send(api, payload('{"a":' * 64 + "1" + "}" * 64))

    assert accepted.status_code == 201
    assert faults(refused) == [("", "too-deep")]


def test_many_brackets_side_by_side_are_not_deep(api: Api) -> None:
    reply = send(api, payload('{"a":[' + "[]," * 1000 + "{}]}"))

    assert reply.status_code == 201


def test_brackets_inside_a_string_are_no_nesting(api: Api) -> None:
    reply = send(api, payload('{"a":"' + '[{\\"' * 500 + '"}'))

    assert reply.status_code == 201


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"[" * 65 + b"}" + b"]" * 64,
        b"[" * 65 + b"]" * 64,
        b"[" * 65 + b"]" * 66,
        b"[" * 65 + b"nul" + b"]" * 65,
        b"[" * 65 + b"]" * 65 + b" x",
        b"[" * 65 + b'"\\ud800"' + b"]" * 65,
        b"[" * 65 + b"1e400" + b"]" * 65,
    ],
    ids=lambda raw: f"{raw[:4]!r}-{len(raw)}-{raw[-4:]!r}",
)
def test_a_deep_body_that_is_no_json_is_no_json_first(api: Api, raw: bytes) -> None:
    reply = send(api, raw)

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.parametrize("inner", ["nul", "1e400", r'"\ud800"', '{"a":1,"a":1}', "}", "]["])
@pytest.mark.parametrize("depth", [70, 900, 5000])
def test_what_is_wrong_in_the_depth_is_no_json_at_any_depth(
    api: Api, depth: int, inner: str
) -> None:
    """B05: what is told must not move with the interpreter's own limit."""
    reply = send(api, payload(nested(depth, inner)))

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("end", ["", "\\", "x"])
def test_a_string_that_is_never_closed_is_answered_quickly(api: Api, end: str) -> None:
    """A search for its end from every quote would take hours."""
    raw = "[" * 65 + '"' + '\\"' * 500_000 + end

    reply = send(api, raw.encode())

    assert_problem(reply, 400, "invalid-json")


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_4300_digits_is_kept_exactly(api: Api, sign: str) -> None:
    digits = sign + "9" * DIGITS_MAX

    reply = send(api, payload(f'{{"v":{digits}}}'))

    assert reply.status_code == 201
    assert json_of(reply)["payload"] == {"v": int(digits)}


@pytest.mark.parametrize("place", ['{{"v":{}}}', '{{"v":-{}}}', '{{"a":[{{"v":{}}}]}}'])
def test_an_integer_of_more_digits_is_refused(api: Api, place: str) -> None:
    reply = send(api, payload(place.format("9" * (DIGITS_MAX + 1))))

    assert faults(reply) == [("", "out-of-range")]


@pytest.mark.parametrize(
    "text",
    [
        '{"v":HUGE} x',
        '{"v":HUGE,"v":1}',
        '{"v":HUGE,"w":NaN}',
        r'{"v":HUGE,"w":"\ud800"}',
        '{"a":' + "[" * 70 + "HUGE" + "]" * 70 + "} x",
        '{"a":' + "[" * 70 + "HUGE" + "]" * 69 + "}",
    ],
)
def test_an_integer_with_too_many_digits_in_what_is_no_json_is_no_json_first(
    api: Api, text: str
) -> None:
    reply = send(api, payload(text.replace("HUGE", "9" * (DIGITS_MAX + 1))))

    assert_problem(reply, 400, "invalid-json")


def test_a_number_of_many_digits_that_is_no_integer_is_read_as_binary64(api: Api) -> None:
    reply = send(api, payload(f'{{"v":0.{"3" * 5000}}}'))

    assert reply.status_code == 201
    assert json_of(reply)["payload"] == {"v": 1 / 3}
