"""A worker process: `python -m tests.support.claimer URL KEY`.

It says `ready`, waits for a line, then claims and completes jobs until there are none, and prints
`JOB ATTEMPT` for each claim.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from queuelog_core.client import Client, Unreachable

TRIES = 5
_T = TypeVar("_T")


def main(url: str, key: str) -> None:
    client = Client(url, key)
    say("ready")
    sys.stdin.readline()
    while True:
        jobs = patiently(partial(client.claim, ["email"])).jobs
        if not jobs:
            return
        job = jobs[0]
        say(f"{job.id} {job.attempt}")
        patiently(partial(client.complete, job, {"process": os.getpid()}))


def patiently(call: Callable[[], _T]) -> _T:
    """A store that is busy says so; what was asked may be sent again."""
    for _ in range(TRIES - 1):
        try:
            return call()
        except Unreachable:
            continue
    return call()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
