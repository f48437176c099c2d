"""What happens to a text on its way into an error: the marks of its secrets stay where they are."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote, quote_plus

from tests.redaction.corpus import Part, Sample

Change = Callable[[str], str]

_WORD = re.compile(r"(?<!\\)[^\W\d_]+")
_SEPARATOR = re.compile(r"(?<![/?&;])\b([\w-]+[\"']?)([=:])[ ]?([\"']?)$")
_TRACEBACK = (
    'Traceback (most recent call last):\n  File "/app/jobs.py", line 7, in run\n    f(job)\n'
)


def _each(sample: Sample, change: Change) -> Sample:
    return replace(sample, parts=tuple(Part(change(p.text), p.secret) for p in sample.parts))


def _around(sample: Sample, change: Change) -> Sample:
    changed = (p if p.secret else Part(change(p.text)) for p in sample.parts)
    return replace(sample, parts=tuple(changed))


def _inside(sample: Sample, before: str, after: str) -> Sample:
    return replace(sample, parts=(Part(before), *sample.parts, Part(after)))


def _cased(change: Change) -> Callable[[Sample], Sample]:
    return lambda sample: _around(sample, lambda text: _WORD.sub(lambda w: change(w[0]), text))


def _json(sample: Sample) -> Sample:
    return _inside(_each(sample, lambda text: json.dumps(text)[1:-1]), '{"message": "', '"}')


def _repr(sample: Sample) -> Sample:
    """Python shows a text in double quotes if it has single quotes only."""
    other = "'" if repr(sample.text)[0] == '"' else '"'
    quoted = _each(sample, lambda text: repr(other + text)[2:-1])
    return _inside(quoted, f"ValueError({repr(sample.text)[0]}", f"{repr(sample.text)[0]})")


def _spaced(space: str) -> Callable[[Sample], Sample]:
    form = rf"\1{space}\2{space}\3"
    return lambda sample: _around(sample, lambda text: _SEPARATOR.sub(form, text))


def _coloured(sample: Sample) -> Sample:
    """As a terminal shows it: every word and every secret in its colour."""
    words = _cased(lambda word: f"\x1b[36m{word}\x1b[39;49;00m")(sample)
    return replace(
        words,
        parts=tuple(
            piece
            for part in words.parts
            for piece in ((Part("\x1b[1;31m"), part, Part("\x1b[0m")) if part.secret else (part,))
        ),
    )


MUTATORS: dict[str, Callable[[Sample], Sample]] = {
    "upper": _cased(str.upper),
    "lower": _cased(str.lower),
    "title": _cased(str.title),
    "crlf": lambda sample: _inside(sample, "HTTP/1.1 500\r\n", "\r\nServer: x\r\n"),
    "lines": lambda sample: _inside(sample, "failed\n", "\nbye"),
    "single-quoted": lambda sample: _inside(sample, "cause: '", "' (fatal)"),
    "double-quoted": lambda sample: _inside(sample, 'cause="', '", fatal'),
    "json": _json,
    "json-twice": lambda sample: _json(_json(sample)),
    "repr": _repr,
    "url": lambda sample: _inside(_each(sample, lambda t: quote(t, safe="")), "/log?m=", "&x=1"),
    "form": lambda sample: _inside(_each(sample, quote_plus), "m=", "&x=1"),
    "html": lambda sample: _inside(_each(sample, html.escape), "<pre>", "</pre>"),
    "spaces": _spaced(" "),
    "tabs": _spaced(r"\t"),
    "traceback": lambda sample: _inside(sample, _TRACEBACK + "RuntimeError: ", "\n"),
    "log-line": lambda sample: _inside(
        sample, "2026-11-29 12:00:00,123 ERROR [mailer-3] jobs: ", " (attempt 2)"
    ),
    "coloured": _coloured,
    "coloured-json": lambda sample: _json(_coloured(sample)),
    "mid-word": lambda sample: _inside(sample, "err=[", "],n=3"),
}
