"""Workers that forget some of their jobs, and some that are killed: the others do all of it."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from queuelog_core.clock import SystemClock
from queuelog_core.errors import Conflict
from queuelog_core.job import Outcome, Status
from queuelog_core.stores import open_store
from tests.support.dynamodb import Engine
from tests.support.factories import pending_job
from tests.support.processes import Fresh, until_free
from tests.support.seeds import seed
from tests.support.servers import eventually
from tests.support.stores import TYPES, claim, complete

JOBS = int(os.environ.get("QUEUELOG_CRASHED", "200"))
WORKERS, KILLED = 5, 2
FORGOTTEN = 0.15
LEASE_MS = 2_000
NAP_SECONDS = 0.1
CLAIMS_BEFORE_A_KILL = 5
DONE_SECONDS = 120.0


def work(url: str, diary: Path, number: int) -> None:
    """Claim and complete until nothing is left, and write down both; forget a job now and then."""
    store, clock, chance = open_store(url), SystemClock(), random.Random(number)
    file = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        jobs = until_free(lambda: claim(store, clock(), lease=LEASE_MS))
        if not jobs:
            if store.next_due_at(TYPES) is None:
                break
            time.sleep(NAP_SECONDS)
        for job in jobs:
            os.write(file, f"claimed {job.id} {job.attempt}\n".encode())
            if chance.random() < FORGOTTEN:
                continue
            try:
                until_free(partial(complete, store, job, clock()))
            except Conflict:
                # It was too slow for its lease, on a busy machine.
                continue
            os.write(file, f"completed {job.id} {job.attempt}\n".encode())
    store.close()


def lines(diary: Path) -> Iterator[tuple[str, int, int]]:
    """What a worker wrote: what it did, with which job, in which attempt."""
    text = diary.read_text() if diary.exists() else ""
    for line in text.splitlines():
        what, job_id, attempt = line.split()
        yield what, int(job_id), int(attempt)


def has_claimed_some(diary: Path) -> bool:
    return len(list(lines(diary))) >= CLAIMS_BEFORE_A_KILL


def run_and_kill_some(url: str, diaries: list[Path]) -> None:
    first = seed()
    running: list[Any] = [
        Fresh(target=work, args=(url, diary, first + number))
        for number, diary in enumerate(diaries)
    ]
    for process in running:
        process.start()
    for process, diary in list(zip(running, diaries, strict=True))[:KILLED]:
        eventually(partial(has_claimed_some, diary), "the worker works", DONE_SECONDS)
        process.kill()
    for process in running:
        process.join(DONE_SECONDS)
    ended = [process.exitcode for process in running]
    assert ended == [-signal.SIGKILL] * KILLED + [0] * (WORKERS - KILLED)


def test_survivors_finish_what_others_forgot_or_died_of_and_no_attempt_is_given_twice(
    dynalite_engine: Engine, tmp_path: Path
) -> None:
    url = dynalite_engine.url(dynalite_engine.make_table())
    store, now = open_store(url), SystemClock()()
    made = store.insert_many([pending_job(now, max_retries=25) for _ in range(JOBS)])
    diaries = [tmp_path / str(number) for number in range(WORKERS)]

    run_and_kill_some(url, diaries)

    told = Counter(line for diary in diaries for line in lines(diary))
    assert set(told.values()) == {1}
    completed = Counter(job_id for what, job_id, _ in told if what == "completed")
    assert set(completed.values()) == {1}
    jobs = [job for made_job, _ in made if (job := store.get(made_job.id))]
    assert [job.status for job in jobs] == [Status.COMPLETED] * JOBS
    for job in jobs:
        outcomes = [entry.outcome for entry in job.history]
        assert outcomes[-1] is Outcome.COMPLETED
        assert set(outcomes[:-1]) <= {Outcome.EXPIRED}
        assert job.retry_count == job.attempt - 1
    assert sum(job.attempt > 1 for job in jobs) >= JOBS * FORGOTTEN / 3
    store.close()
