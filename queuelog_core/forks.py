"""What a forked process must make anew before it can use it."""

import os
import weakref
from typing import Protocol


class OfOneProcess(Protocol):
    """What holds connections, threads or locks."""

    def begin_anew(self) -> None:
        """Leave all of it to the parent, in a child: connections are still the parent's, threads
        are gone and locks may be held for ever."""


_known: "weakref.WeakSet[OfOneProcess]" = weakref.WeakSet()


def begin_anew_in_children(one: OfOneProcess) -> None:
    """Have it begin anew in every process that is forked from this one, as long as it lives."""
    _known.add(one)


def _in_child() -> None:
    for one in list(_known):
        one.begin_anew()


os.register_at_fork(after_in_child=_in_child)
