"""Secrets out of error texts, before they are stored.

The rules are data, in redact_rules.py. A text is scrubbed over its first 16,384 bytes, then cut to
1,024: a secret that lies across the cut must not survive in half.
"""

import html
import logging
import re
from urllib.parse import unquote, unquote_plus

from queuelog_core.redact_rule import Rule
from queuelog_core.redact_rules import RULES

SCRUBBED_BYTES_MAX = 16_384
ERROR_BYTES_MAX = 1_024
WITHHELD = "[error text withheld: it could not be scrubbed]"
REDACTED_CODE = "redacted"

_log = logging.getLogger(__name__)
_LAYERS_MAX = 3
_DECODED_CHARS_MAX = 4096
_NAMED = r"(?:[uU](?:0000)?001[bB]|[xX]1[bB]|0{0,2}33|e|[ux]\{1[bB]\}|N\{ESC(?:APE)?\})"
_ESCAPE = rf"(?:\x1b|\\{{1,8}}+{_NAMED}|\u241b|&#(?:0?27|[xX](?:00)?1[bB]);)"
_TERMINAL = re.compile(
    r"(?=[\x1b\x9b\\\u241b&^])(?:"
    r"\x1b[\]PX^_][^\x07\x1b\x9c]{0,2048}(?:\x07|\x1b\\|\x9c)"  # links, titles
    rf"|{_ESCAPE}(?:\[[0-?]{{0,64}}[ -/]{{0,4}}[@-~]?"  # colours, the cursor
    r"|[()*+][AB0-2]"  # character sets
    # Links and titles once more; what doubles a backslash has doubled the one that ends them.
    r"|\](?:[^\\\x1b\u241b&\r\n]|&(?!#)){0,2048}"
    rf"(?:(?P<slashes>\\{{1,8}}+){_NAMED}(?P=slashes){{2}}|\\{{1,8}}+(?:a|[xX]07|007|[uU]0007)))"
    # Of an unknown one no letter is taken: a token may begin there.
    r"|\x1b(?:#[3-8]|%[@G]|[78=>cM\\\]PX^_])?"
    r"|\x9b(?:[0-?]{1,64}[ -/]{0,4}[@-~])?|\\{1,8}+(?:[xX]|[uU]00)9[bB][0-9;]{1,64}[mK]"
    # More than this would be taken from regular expressions.
    r"|\^\[\[[0-9;]{0,64}[mK])"
)
_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]"
    r"|\\{1,8}+[uU](?:00[aA][dD]|200[b-fB-F]|2060|[fF][eE][fF]{2})"
)
_ESCAPED = re.compile(r"\\(?:u((?!d[89a-f])[0-9a-f]{4})|([\"'\\/nrt]))", re.IGNORECASE)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_SPACED_SECRET_CHARS = 64
_HALF_SECRET_CHARS_MAX = 2048


def scrub(text: str, rules: tuple[Rule, ...] = RULES, decoded_chars_max: int | None = None) -> str:
    """Replace every secret that a rule knows by `[redacted:<rule>]`; drop what colours a terminal.

    A text in which a secret shows only once it is decoded is kept in its decoded form; of one that
    holds escapes, about `decoded_chars_max` characters are kept."""
    text = _TERMINAL.sub("", text)
    layer = _seen(html.unescape(text))
    for _ in range(_LAYERS_MAX):
        scrubbed = _apply(layer, rules)
        if scrubbed != layer:
            text = layer = scrubbed
        layer, previous = _decode(layer), layer
        if layer == previous:
            break
        if decoded_chars_max is not None and len(layer) > decoded_chars_max:
            # Each layer costs as much as the first, and what is stored is shorter anyway.
            text = _without_half_a_secret(text[:decoded_chars_max])
            layer = _decode(text)
    return text


def _decode(text: str) -> str:
    """One layer less of JSON, Python, URL and HTML escapes."""
    # A plus is a space in a form; in a sentence it belongs to a secret.
    unquoted = unquote if " " in text else unquote_plus
    return _seen(html.unescape(unquoted(_ESCAPED.sub(_unescape, text))))


def _seen(text: str) -> str:
    """What a reader sees: no terminal sequences, and no characters without a width."""
    return _INVISIBLE.sub("", _TERMINAL.sub("", text))


def _unescape(match: re.Match[str]) -> str:
    code, char = match.groups()
    return chr(int(code, 16)) if code else _CONTROLS.get(char, char)


def _apply(text: str, rules: tuple[Rule, ...]) -> str:
    # This letter alone becomes two characters in lower case.
    lowered = text.replace("\u0130", "i").lower()
    for rule in rules:
        spans = rule.spans(text, lowered)
        if spans:
            text, lowered = rule.replace(text, spans), rule.replace(lowered, spans)
    return text


def redact_error(text: str, rules: tuple[Rule, ...] = RULES) -> str:
    """The form of an error text that may be stored: scrubbed, without NUL, at most 1,024 bytes.

    A fault in the scrubber never fails the report: a fixed text takes the place of the error.
    """
    try:
        bounded = cut(text, SCRUBBED_BYTES_MAX)
        if len(bounded) < len(text):
            bounded = _without_half_a_secret(bounded)
        scrubbed = scrub(bounded, rules, _DECODED_CHARS_MAX)
        return cut(scrubbed.replace("\0", "\ufffd"), ERROR_BYTES_MAX)
    except Exception as error:
        _log.error("redactor-failed", extra={"fields": {"cause": type(error).__name__}})
        return WITHHELD


def redact_code(code: str, rules: tuple[Rule, ...] = RULES) -> str:
    """An error code, or `redacted` when a secret was put where a slug belongs."""
    return code if redact_error(code, rules) == code else REDACTED_CODE


def _without_half_a_secret(text: str) -> str:
    """A text that was cut, without its last word: half a secret no longer looks like one.

    A secret that is written in groups, such as a card number, needs a few characters more.
    """
    head = text[:-_SPACED_SECRET_CHARS]
    words = head.rsplit(None, 1)
    last_word = words[-1] if words else ""
    return head[: len(head) - min(len(last_word), _HALF_SECRET_CHARS_MAX)]


def cut(text: str, bytes_max: int) -> str:
    """The longest prefix of at most `bytes_max` UTF-8 bytes, on a character boundary."""
    # A character has at least one byte, so the slice bounds the work before anything is encoded.
    return text[:bytes_max].encode()[:bytes_max].decode(errors="ignore")
