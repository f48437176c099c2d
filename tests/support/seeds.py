"""The seed of a randomized test: QUEUELOG_SEED repeats what an earlier run drew."""

import os
import random
import sys


def seed() -> int:
    """The seed from the environment, else a fresh one; printed, so that a failure shows it."""
    given = os.environ.get("QUEUELOG_SEED")
    number = random.SystemRandom().randrange(2**32) if given is None else int(given)
    sys.stdout.write(f"QUEUELOG_SEED={number}\n")
    return number
