"""Error texts with marked secrets, made from templates: no secret stands in the repository.

A line is `kind | text`. A secret is marked `«…»`; `{alnum:36}` and its like are drawn from a seed
that is the line itself, so that a text is the same on every run.
"""

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

FOLDER = Path(__file__).parent / "texts"
RUN_MAX = 6
"""A run of so many characters of a secret, or of half of a shorter one, is a leak."""

_MARKS = {
    "alnum": string.ascii_letters + string.digits,
    "uplow": string.ascii_letters,
    "upper": string.ascii_uppercase,
    "UPPER": string.ascii_uppercase + "234567",
    "lownum": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "digits": string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "_-",
    "pass": string.ascii_letters + string.digits + "!#$*-_.?^+=~@",
}
_TEMPLATE = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\\": "\\"}
_REPLACEMENT = re.compile(r"\[redacted:[\w-]*\]")


@dataclass(frozen=True)
class Part:
    """A stretch of a text that is secret, or is not."""

    text: str
    secret: bool = False


@dataclass(frozen=True)
class Sample:
    """A text in parts, and the line that it was made from."""

    kind: str
    line: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def secrets(self) -> list[str]:
        return [part.text for part in self.parts if part.secret]

    @cached_property
    def around(self) -> str:
        """What is no secret, in lower case."""
        return "\0".join(part.text for part in self.parts if not part.secret).lower()

    def runs(self) -> set[str]:
        """The shortest stretches of its secrets that must not be seen, save those seen anyway."""
        found = set()
        for secret in self.secrets:
            length = min(RUN_MAX, (len(secret) + 1) // 2)
            found |= {secret[i : i + length] for i in range(len(secret) - length + 1)}
        return {run for run in found if run.lower() not in self.around}

    def leaks(self, redacted: str) -> bool:
        """Whether some run of a secret is still there after redaction."""
        rest = _REPLACEMENT.sub("\0", redacted)
        return any(run in rest for run in self.runs())


def load(*names: str) -> list[Sample]:
    """The samples of these files, without the ending `.txt`."""
    return [sample for name in names for sample in _of_file(FOLDER / f"{name}.txt")]


def _of_file(path: Path) -> Iterator[Sample]:
    for line in path.read_text("utf-8").splitlines():
        kind, _, template = line.partition(" | ")
        text = re.sub(r"\\[nrt\\]", lambda found: _ESCAPES[found[0]], template)
        draw = partial(_draw, random.Random(line))
        pieces = [_TEMPLATE.sub(draw, piece) for piece in re.split("[«»]", text)]
        parts = (Part(piece, number % 2 == 1) for number, piece in enumerate(pieces))
        yield Sample(kind, line, tuple(part for part in parts if part.text))


def _draw(source: random.Random, found: re.Match[str]) -> str:
    name, size = found[1], found[2] or ""
    if name in _MARKS and size:
        return _chars(source, name, int(size))
    return _SPECIAL[name](source, size) if name in _SPECIAL else found[0]


def _chars(source: random.Random, name: str, count: int) -> str:
    return "".join(source.choices(_MARKS[name], k=count))


def _word(source: random.Random, _: str) -> str:
    """Something that people choose: it is spoken, and has no digit."""
    return "".join(source.choice("bdfgklmnprstvz") + source.choice("aeiou") for _ in range(4))


def _card(source: random.Random, separator: str) -> str:
    digits = _with_check_digit("4" + "".join(source.choices(string.digits, k=14)))
    return separator.join(re.findall("....", digits))


def _amex(source: random.Random, _: str) -> str:
    return _with_check_digit("37" + "".join(source.choices(string.digits, k=12)))


def _with_check_digit(digits: str) -> str:
    doubled = [int(digit) * (2 - i % 2) for i, digit in enumerate(reversed(digits))]
    return digits + str(-sum(number // 10 + number % 10 for number in doubled) % 10)


def _jwt(source: random.Random, _: str) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": _word(source, ""), "exp": 1_795_953_600})
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
    return ".".join([*(text.rstrip("=") for text in texts), _chars(source, "url", 43)])


_SPECIAL: dict[str, Callable[[random.Random, str], str]] = {
    "word": _word,
    "chr": lambda _, code: chr(int(code, 16)),
    "card": _card,
    "amex": _amex,
    "jwt": _jwt,
    "uuid": lambda source, _: str(uuid.UUID(int=source.getrandbits(128), version=4)),
}
