"""Workers are restarted one after another under load; every job tells afterwards what it went
through, and its worker's own log agrees."""

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from queuelog_core.client import Attempt, Client, Job
from queuelog_core.identity import Role
from tests.support.fleet import Fleet, Run, worker_keys
from tests.support.servers import eventually, make_key, serving

RESTARTS = int(os.environ.get("QUEUELOG_RESTARTS", "20"))
SEED = int(os.environ.get("QUEUELOG_SEED", random.randrange(2**32)))
WORKERS = 3
JOBS_A_SECOND = 25
DRAIN_SECONDS = 60.0


class Told(NamedTuple):
    """A job at the end and its whole history."""

    job: Job
    history: list[Attempt]


def load(client: Client, chance: random.Random, stop: threading.Event) -> None:
    """Jobs all the time: most of tens of milliseconds, some longer than a hasty worker's grace."""
    while not stop.wait(1 / JOBS_A_SECOND):
        bounds = (0.5, 1.0) if chance.random() < 0.3 else (0.02, 0.2)
        client.enqueue("chore", {"seconds": chance.uniform(*bounds)}, max_retries=25)


@contextmanager
def under_load(client: Client, chance: random.Random) -> Iterator[None]:
    """While the block runs, somebody enqueues."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        producer = thread.submit(load, client, chance, stop)
        try:
            yield
        finally:
            stop.set()
        producer.result()


def restart_under_load(
    folder: Path, lease_seconds: int, kills: int
) -> tuple[list[Told], Mapping[str, signal.Signals], list[Run]]:
    """After the restarts, so many of them by SIGKILL, and the drain: all jobs, the signal that
    ended each worker, and what handlers say that they ran."""
    sys.stdout.write(f"QUEUELOG_SEED={SEED}\n")
    signals = [signal.SIGKILL] * kills + [signal.SIGTERM] * (RESTARTS - kills)
    random.Random(SEED).shuffle(signals)
    types = folder / "types.toml"
    types.write_text(f"[types.chore]\nlease_seconds = {lease_seconds}\n")
    key = make_key(folder, "root", Role.ADMIN)
    keys = worker_keys(folder, WORKERS + RESTARTS)
    began_at = time.monotonic()
    with (
        serving(folder, QUEUELOG_JOB_TYPES=str(types)) as server,
        Client(server.url, key) as client,
    ):
        with Fleet(folder, server.url, keys, WORKERS) as fleet:
            with under_load(client, random.Random(SEED)):
                for number in signals:
                    fleet.restart_the_oldest(number)
            eventually(lambda: is_drained(client), "all jobs have ended", DRAIN_SECONDS)
        told = [Told(job, whole_history(client, job)) for job in client.jobs(limit=200)]
    print_figures(told, len(fleet.runs()), kills, time.monotonic() - began_at)
    return told, fleet.ended, fleet.runs()


def is_drained(client: Client) -> bool:
    chores = client.stats()["types"]["chore"]
    return bool(chores["pending"] + chores["running"] == 0)


def whole_history(client: Client, job: Job) -> list[Attempt]:
    history, dropped = client.attempts(job.id)
    assert dropped == 0, job
    return history


def print_figures(told: list[Told], runs: int, kills: int, seconds: float) -> None:
    outcomes = Counter(attempt.outcome for _, history in told for attempt in history)
    most = max(job.attempt for job, _ in told)
    sys.stdout.write(
        f"{RESTARTS} restarts, {kills} by SIGKILL; {len(told)} jobs, attempts {dict(outcomes)},"
        f" at most {most} of one job, {runs} runs; {seconds:.1f} s\n"
    )


def assert_every_job_is_explained(told: list[Told], ended: Mapping[str, signal.Signals]) -> None:
    for job, history in told:
        outcomes = [attempt.outcome for attempt in history]
        assert job.status == "completed", job
        assert outcomes.index("completed") == len(outcomes) - 1, history
        assert [attempt.attempt for attempt in history] == list(range(1, job.attempt + 1))
        assert job.retry_count == outcomes.count("expired") + outcomes.count("failed"), history
        assert job.release_count == outcomes.count("released"), history
        for attempt in history[:-1]:
            # Only what was killed may lose its lease; whoever could hand back has done so.
            killed = ended[attempt.worker_id] is signal.SIGKILL
            assert attempt.outcome == ("expired" if killed else "released"), history
        times = [at for one in history for at in (one.claimed_at, one.ended_at) if at]
        assert times == sorted(times), "one worker at a time"


def assert_the_runs_agree(told: list[Told], runs: list[Run]) -> None:
    recorded = {
        Run(job.id, attempt.attempt, attempt.worker_id): attempt.outcome
        for job, history in told
        for attempt in history
    }
    times = Counter(runs)
    assert set(times.values()) == {1}, "no attempt ran twice"
    assert set(times) <= set(recorded), "what ran was an attempt"
    # Some attempts ended before their handler began.
    assert {recorded[run] for run in set(recorded) - set(times)} <= {"released", "expired"}


def test_workers_restarted_under_load_complete_every_job_once_and_spend_no_retry(
    tmp_path: Path,
) -> None:
    # Longer than the drain may take: no lease comes to the help of a job that was not handed back.
    told, ended, runs = restart_under_load(tmp_path, 300, 0)

    assert_every_job_is_explained(told, ended)
    assert_the_runs_agree(told, runs)
    assert {job.retry_count for job, _ in told} == {0}
    assert any(job.release_count for job, _ in told)


def test_workers_of_which_some_are_killed_complete_every_job_once_and_each_retry_is_explained(
    tmp_path: Path,
) -> None:
    told, ended, runs = restart_under_load(tmp_path, 5, RESTARTS // 3)

    assert_every_job_is_explained(told, ended)
    assert_the_runs_agree(told, runs)
    assert any(job.retry_count for job, _ in told)
