"""Producers that know nothing of it enqueue through a server that is killed all the time."""

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from queuelog_core.client import new_job
from queuelog_core.identity import Role
from tests.support.kills import KilledServer
from tests.support.servers import make_key, queuelog

SECONDS = float(os.environ.get("QUEUELOG_KILLS_SECONDS", "20"))
SEED = int(os.environ.get("QUEUELOG_SEED", random.randrange(2**32)))
CALLS, KILLS = 1_000, max(25, round(SECONDS / 2))
BATCHES, BATCH_JOBS, BATCH_KILLS = 10, 200, 5


@contextmanager
def killed_server(folder: Path) -> Iterator[KilledServer]:
    """A server to be killed; afterwards the file is whole."""
    sys.stdout.write(f"QUEUELOG_SEED={SEED}\n")
    key = make_key(folder, "shop", Role.PRODUCER)
    began_at = time.monotonic()
    with ExitStack() as stack:
        server = KilledServer(stack, folder, key, random.Random(SEED))
        yield server
        assert server.life.stop(signal.SIGKILL) == -signal.SIGKILL
    sys.stdout.write(f"{server.figures()}; {time.monotonic() - began_at:.1f} s\n")
    checked = queuelog(folder, "db", "check")
    assert (checked.returncode, checked.stdout) == (0, "ok\n")


def stored(server: KilledServer) -> list[tuple[int, int]]:
    """Number and id of each job that there is."""
    return sorted((job.payload["number"], job.id) for job in server.client.jobs(limit=200))


def test_a_thousand_calls_through_kills_make_a_thousand_jobs(tmp_path: Path) -> None:
    with killed_server(tmp_path) as server:

        def enqueue(number: int) -> tuple[int, int]:
            return number, server.client.enqueue("email", {"number": number}).id

        told = server.during_kills(enqueue, CALLS, KILLS, SECONDS, 0.004)

        assert server.watched.kills == KILLS
        assert [number for number, _ in told] == list(range(CALLS))
        assert stored(server) == told


def test_batches_through_kills_make_each_of_their_jobs_once(tmp_path: Path) -> None:
    with killed_server(tmp_path) as server:

        def enqueue(batch: int) -> list[tuple[int, int | None]]:
            first = batch * BATCH_JOBS
            jobs = [
                new_job("email", {"number": number}) for number in range(first, first + BATCH_JOBS)
            ]
            return [(first + made.index, made.id) for made in server.client.enqueue_many(jobs)]

        told = server.during_kills(enqueue, BATCHES, BATCH_KILLS, SECONDS / 4, 0.02)

        assert server.watched.kills == BATCH_KILLS
        assert stored(server) == [made for batch in told for made in batch]
