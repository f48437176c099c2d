"""Rules for single values: what passes, how it reads from a query, and its JSON Schema."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from queuelog_core.clock import parse_instant
from queuelog_core.documents import Document, compact

INTEGER_MAX = 2**53 - 1
_DIGITS = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Refused(Exception):
    """A value that does not pass: a stable code and a message that does not repeat it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


class Rule(Protocol):
    """`check` takes a JSON value and returns what the endpoint gets, or raises Refused."""

    def check(self, value: Any, /) -> Any: ...

    def schema(self) -> dict[str, Any]: ...


class QueryRule(Rule, Protocol):
    """A rule that also reads the text of a query parameter."""

    def from_text(self, text: str, /) -> Any: ...


class Integer(NamedTuple):
    least: int
    most: int

    def check(self, value: Any) -> int:
        if type(value) is not int:
            raise Refused("wrong-type", "Must be an integer.")
        if not self.least <= value <= self.most:
            raise Refused("out-of-range", f"Must be from {self.least} to {self.most}.")
        return value

    def from_text(self, text: str) -> int:
        if not _DIGITS.fullmatch(text):
            raise Refused("wrong-type", "Must be an integer.")
        return self.check(int(text))

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


class Flag:
    def check(self, value: Any) -> bool:
        if type(value) is not bool:
            raise Refused("wrong-type", "Must be true or false.")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Text(NamedTuple):
    """A string of some characters; `pattern` must match all of it, `reserved` may not be used."""

    most: int | None = None
    least: int = 0
    pattern: str | None = None
    reserved: frozenset[str] = frozenset()
    printable: bool = False

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise Refused("wrong-type", "Must be a string.")
        if len(value) < self.least or (self.most is not None and len(value) > self.most):
            raise Refused("wrong-length", f"Must have {self.least} to {self.most} characters.")
        if self.pattern is not None and not re.fullmatch(self.pattern, value, re.ASCII):
            raise Refused("wrong-format", f"Must match {self.pattern}.")
        if self.printable and _CONTROL.search(value):
            raise Refused("wrong-format", "Must not hold control characters.")
        if value in self.reserved:
            raise Refused("reserved", "This value is the server's own.")
        return value

    def from_text(self, text: str) -> str:
        return self.check(text)

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        if self.least:
            schema["minLength"] = self.least
        if self.most is not None:
            schema["maxLength"] = self.most
        if self.pattern is not None:
            schema["pattern"] = f"^{self.pattern}$"
        elif self.printable:
            schema["pattern"] = r"^[^\u0000-\u001f\u007f-\u009f]*$"
        return schema


class Label(NamedTuple):
    """One of a few labels, each standing for a value; `any_case` reads them case-insensitively."""

    values: Mapping[str, Any]
    any_case: bool = False

    def check(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise Refused("wrong-type", "Must be a string.")
        # casefold and lower would let a Kelvin sign or a dotless i pass for a letter.
        label = value.lower() if self.any_case and value.isascii() else value
        if label not in self.values:
            raise Refused("unknown-value", f"Must be one of {', '.join(self.values)}.")
        return self.values[label]

    def from_text(self, text: str) -> Any:
        return self.check(text)

    def schema(self) -> dict[str, Any]:
        if not self.any_case:
            return {"type": "string", "enum": list(self.values)}
        letters = ("".join(f"[{c}{c.upper()}]" for c in label) for label in self.values)
        return {"type": "string", "pattern": f"^({'|'.join(letters)})$"}


class Instant:
    """RFC 3339 with Z or an offset, read as milliseconds since 1970 UTC."""

    def check(self, value: Any) -> int:
        if not isinstance(value, str):
            raise Refused("wrong-type", "Must be a string.")
        try:
            return parse_instant(value)
        except ValueError:
            raise Refused("wrong-format", "Must be RFC 3339 with Z or an offset.") from None

    def from_text(self, text: str) -> int:
        return self.check(text)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "date-time"}


class Json(NamedTuple):
    """A document of the users, measured as compact UTF-8 JSON."""

    bytes_max: int
    object_only: bool = False

    def check(self, value: Any) -> Document:
        if self.object_only and not isinstance(value, dict):
            raise Refused("wrong-type", "Must be an object.")
        text = compact(value)
        if len(text) > self.bytes_max or len(text.encode()) > self.bytes_max:
            raise Refused("too-large", f"At most {self.bytes_max} bytes of compact UTF-8 JSON.")
        return Document(value, text)

    def schema(self) -> dict[str, Any]:
        size = {"description": f"At most {self.bytes_max} bytes of compact UTF-8 JSON."}
        return {"type": "object", "additionalProperties": True} | size if self.object_only else size


class ListOf(NamedTuple):
    item: Rule
    least: int
    most: int

    def check(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise Refused("wrong-type", "Must be a list.")
        if not self.least <= len(value) <= self.most:
            raise Refused("wrong-length", f"Must have {self.least} to {self.most} items.")
        return [self.item.check(item) for item in value]

    def schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "items": self.item.schema(),
            "minItems": self.least,
            "maxItems": self.most,
        }


class Ignored:
    """A field of the original's clients that is read and changes nothing."""

    def check(self, _: Any) -> None:
        return None

    def schema(self) -> dict[str, Any]:
        return {"deprecated": True, "description": "Accepted and ignored."}
