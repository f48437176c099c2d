"""Strict JSON for request bodies.

InvalidJson (400): not UTF-8, not JSON, a duplicate key at any depth, NaN or infinity, a lone
surrogate. ValidationFailed (422): deeper than 64 levels, an integer of more than 4,300 digits.
"""

import json
import math
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NoReturn

from queuelog_core.documents import compact
from queuelog_core.errors import InvalidJson, invalid

DEPTH_MAX = 64
# A string that is never closed reaches to the end: a search inside it would be quadratic.
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")
_TOKENS = re.compile(_STRINGS.pattern + r"|[\[\]{}]", re.DOTALL)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_JUDGED_BRACKETS_MAX = 65_536


def parse_json(body: bytes, depth_max: int = DEPTH_MAX) -> Any:
    """The value of a body. Raises InvalidJson or ValidationFailed."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson("The body is not UTF-8.") from error
    if text.count("[") + text.count("{") > depth_max:
        _refuse_depth(text, depth_max)
    return _decode(text, _strict)


def _decode(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        value = decoder.decode(text)
        if "\\u" in text:
            compact(value).encode()
        return value
    except json.JSONDecodeError as error:
        raise InvalidJson(f"Not JSON at line {error.lineno}, column {error.colno}.") from None
    except UnicodeEncodeError:
        raise InvalidJson("A string holds half of a surrogate pair.") from None
    except ValueError:
        # Python refuses the digits before it has seen the rest, which may not be JSON at all.
        _decode(text, _any_digits)
        raise invalid("", "out-of-range", "An integer has more than 4,300 digits.") from None


def _refuse_depth(text: str, depth_max: int) -> None:
    """Raise for a text deeper than allowed: InvalidJson if it is not JSON, else ValidationFailed.

    It never meets the parser as a whole, whose own limit moves with its version. Of more brackets
    than any payload may hold only their balance is judged, which costs next to nothing.
    """
    brackets = _NOT_BRACKETS.sub("", _STRINGS.sub("", text))
    depths = list(accumulate(map(_STEP.__getitem__, brackets)))
    if max(depths, default=0) <= depth_max:
        return
    if min(depths) < 0 or depths[-1] != 0:
        raise InvalidJson("A bracket is never closed, or never opened.")
    if len(brackets) <= _JUDGED_BRACKETS_MAX:
        for piece in _pieces(text):
            _decode(piece, _any_digits)
    raise invalid("", "too-deep", f"Nested deeper than {depth_max} levels.")


def _pieces(text: str) -> Iterator[str]:
    """Cut a deep text into pieces that are shallow, and all JSON just when the whole is.

    What lies deeper than a piece may be is replaced by [] in it, which no digit around it could
    join, and becomes a piece of its own.
    """
    stack: list[list[str]] = [[]]
    depths = [0]
    end = 0
    for token in _TOKENS.finditer(text):
        stack[-1].append(text[end : token.start()])
        end = token.end()
        step = _STEP.get(token.group(), 0)
        if step == 1 and depths[-1] == DEPTH_MAX:
            stack[-1].append("[]")
            stack.append([])
            depths.append(0)
        stack[-1].append(token.group())
        depths[-1] += step
        if step == -1 and depths[-1] == 0 and len(stack) > 1:
            depths.pop()
            yield "".join(stack.pop())
    yield from ("".join(part) for part in stack[1:])
    yield "".join([*stack[0], text[end:]])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidJson("An object names one key twice.")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise InvalidJson("A number is too large.")
    return value


def _no_constant(_: str) -> NoReturn:
    raise InvalidJson("NaN and Infinity are not JSON.")


_strict = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)
_any_digits = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_constant=_no_constant,
    parse_int=lambda _: 0,
)
