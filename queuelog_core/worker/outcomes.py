"""How a handler ends otherwise than by returning, and what is told of an exception."""

import re

from queuelog_core.client.errors import Portable
from queuelog_core.job import SERVER_ERROR_CODES

ERROR_CHARS_MAX = 4096
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CODE = re.compile(r"[a-z0-9_]{1,64}")
_DELAY_SECONDS_MAX = 86_400
_NOT_IN_CODES = re.compile(r"[^a-z0-9_]")


class Retry(Portable):
    """Try again later. `after` is in seconds, None leaves it to the type's backoff; with `spend`
    False the job is released, which costs no retry (twenty times at most)."""

    def __init__(
        self, reason: str = "", *, after: int | None = None, code: str = "retry", spend: bool = True
    ) -> None:
        super().__init__(reason)
        if not (after is None or (is_whole(after) and 0 <= after <= _DELAY_SECONDS_MAX)):
            raise ValueError(f"after is in whole seconds, at most {_DELAY_SECONDS_MAX}")
        self.after = after
        self.code = _checked(code)
        self.spend = spend


class Discard(Portable):
    """Fail for good: no retry will help."""

    def __init__(self, code: str, reason: str = "") -> None:
        super().__init__(reason)
        self.code = _checked(code)


def is_whole(number: object) -> bool:
    """Whether the server takes it for an integer: True is none there."""
    return isinstance(number, int) and not isinstance(number, bool)


def _checked(code: str) -> str:
    """What the server would refuse is told to the handler, whose failure it then is."""
    if not _CODE.fullmatch(code) or code in SERVER_ERROR_CODES:
        raise ValueError(f"a code is of a-z, 0-9 and _, not one of the server's own: {code!a}")
    return code


def error_code(error: BaseException) -> str:
    """A slug for an exception: FileNotFoundError is file_not_found_error."""
    words = _CAPITAL.sub("_", type(error).__name__).lower()
    code = _NOT_IN_CODES.sub("_", words)[:64] or "error"
    return f"raised_{code}" if code in SERVER_ERROR_CODES else code


def error_text(error: BaseException) -> str:
    """Name and words of an exception, whatever is wrong with the words."""
    try:
        words = str(error)
    except BaseException:
        words = "(without words)"
    text = f"{type(error).__name__}: {words}"[:ERROR_CHARS_MAX]
    return text.encode("utf-8", "replace").decode()
