"""Time: the only module that reads a clock.

An instant is an integer: milliseconds since 1970-01-01 UTC. Integers compare by instant,
whatever wrote them; text forms exist only at the edge, as RFC 3339.
"""

import functools
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

Clock = Callable[[], int]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,1000}))?(?:([Zz])|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
_DAY = 86_400_000
INSTANT_MAX = 253_402_300_799_999
"""The last millisecond of the year 9999: what RFC 3339 can still write."""


class SystemClock:
    """The host's clock in milliseconds, never going backwards inside a process."""

    def __init__(self, read_ns: Callable[[], int] = time.time_ns) -> None:
        self._read_ns = read_ns
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> int:
        with self._lock:
            self._last = max(self._last, self._read_ns() // 1_000_000)
            return self._last


def monotonic_seconds() -> float:
    """Seconds for measuring how long something took; unrelated to the calendar."""
    return time.monotonic()


def boot_seconds() -> float:
    """Seconds that go on counting while the machine sleeps, which CLOCK_MONOTONIC does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def format_instant(instant: int) -> str:
    """Fixed-width UTC text with milliseconds: `2026-11-29T23:27:31.000Z`."""
    second, millisecond = divmod(instant, 1000)
    return f"{_format_second(second)}.{millisecond:03d}Z"


@functools.lru_cache(1024)
def _format_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat().removesuffix("+00:00")


def parse_instant(text: str) -> int:
    """Read RFC 3339 with `Z` or an offset. Finer than milliseconds is rounded up.

    Raises ValueError for anything else, a time without an offset included.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("not RFC 3339")
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    leap = second == 60
    zone = _offset(match)
    moment = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=zone)
    fraction = match.group(7) or ""
    millis = int(fraction[:3].ljust(3, "0")) + (1 if fraction[3:].strip("0") else 0)
    whole = (moment - _EPOCH) // timedelta(milliseconds=1)
    instant = whole + millis + (1000 if leap else 0)
    if instant > INSTANT_MAX or (leap and whole % _DAY != _DAY - 1000):
        raise ValueError("out of range")
    return instant


def _offset(match: re.Match[str]) -> timezone:
    if match.group(8):
        return UTC
    hours, minutes = int(match.group(10)), int(match.group(11))
    if hours > 23 or minutes > 59:
        raise ValueError("no such offset")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if match.group(9) == "-" else offset)
