"""How much the tests of this folder try: little for CI, everything for `make soak`."""

import os

VERBS = ("enqueue", "claim", "complete")
EVERY_POINT = 10_000
_ASKED = os.environ.get("QUEUELOG_NFS_POINTS", "")
IS_SOAK = _ASKED == "all"


def points(few: int) -> int:
    """At how many of its file syscalls an operation is hit: QUEUELOG_NFS_POINTS, a number or all;
    else a few."""
    return EVERY_POINT if IS_SOAK else int(_ASKED or few)


def seconds(few: float) -> float:
    """How long processes are killed at random: QUEUELOG_NFS_SECONDS, else a few."""
    return float(os.environ.get("QUEUELOG_NFS_SECONDS", 300 if IS_SOAK else few))
