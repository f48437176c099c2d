"""Decisions read from bytes: what a fuzzer steers, and what a finding replays without one."""

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


class Choices:
    """Bytes read from the front; zeros when they run out, so that every input means something."""

    def __init__(self, data: bytes) -> None:
        self._left = data

    @property
    def is_empty(self) -> bool:
        return not self._left

    def number(self, size: int = 1) -> int:
        """The next `size` bytes as one number."""
        return int.from_bytes(self._take(size), "big")

    def pick(self, options: Sequence[_T]) -> _T:
        return options[self.number() % len(options)]

    def text(self) -> str:
        """Up to 255 bytes as text; what is no UTF-8 becomes replacement characters."""
        return self._take(self.number()).decode(errors="replace")

    def rest(self) -> bytes:
        return self._take(len(self._left))

    def _take(self, size: int) -> bytes:
        taken, self._left = self._left[:size], self._left[size:]
        return taken
