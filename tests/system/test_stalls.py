"""A server, or its workers, stand still for longer than a lease and then go on as if nothing had
been: SIGSTOP and SIGCONT, as a paused machine or a frozen function does it."""

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from queuelog_core.client import Client
from tests.support.kills import Watched
from tests.support.naps import LEASE_SECONDS, Site, nap_site, told_of_the_loss
from tests.support.seeds import seed
from tests.support.servers import Answer, Server, eventually
from tests.support.traffic import traffic

STALLS = int(os.environ.get("QUEUELOG_STALLS", "2"))
STOOD_SECONDS = LEASE_SECONDS + 1.2
PATIENCE_SECONDS = 1.0
WORKERS = 3


@contextmanager
def stopped(process: Server) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def claimed(site: Site) -> Any:
    """The job that a worker gets now, or None."""
    answer = site.server.call("POST", "/jobs/claim", site.key, {"types": ["nap"]})
    return answer.json if answer.status == 200 else None


def told(site: Site, verb: str, job: Any) -> Answer:
    body = {"attempt": job["attempt"]}
    return site.server.call("POST", f"/jobs/{job['id']}/{verb}", site.key, body)


def test_a_server_that_stood_still_under_load_has_lost_and_doubled_nothing(tmp_path: Path) -> None:
    chance = random.Random(seed())
    with nap_site(tmp_path) as site:
        watched = Watched(site.server.url, PATIENCE_SECONDS)
        lost = []
        with traffic(watched, site.key, "nap") as calls:
            for _ in range(STALLS):
                time.sleep(chance.uniform(0.3, 1))
                before = len(watched.lost)
                watched.begun.clear()
                assert watched.begun.wait(30)
                with stopped(site.server):
                    time.sleep(STOOD_SECONDS)
                lost.append(len(watched.lost) - before)

        client = Client(site.server.url, site.key)
        jobs = list(client.jobs(type="nap"))
        ends = {job.id: client.attempts(job.id).attempts for job in jobs}
    sys.stdout.write(
        f"{STALLS} stalls, requests without an answer in each: {lost}; {len(jobs)} jobs,"
        f" {len(watched.replayed)} replays, {len(calls.refused)} stale reports,"
        f" {sum(len(entries) - 1 for entries in ends.values())} leases ran out\n"
    )
    assert all(lost), "nothing was in flight"
    assert {job.idempotency_key: job.id for job in jobs} == calls.enqueued
    assert len(set(calls.enqueued.values())) == len(jobs)
    assert {job.status for job in jobs} == {"completed"}
    assert len(set(calls.claimed)) == len(calls.claimed), "an attempt was given twice"
    assert sorted(calls.completed) == sorted((job.id, job.attempt) for job in jobs)
    for entries in ends.values():
        assert [entry.outcome for entry in entries[:-1]] == ["expired"] * (len(entries) - 1)
        assert entries[-1].outcome == "completed"


def test_leases_that_ran_out_while_the_server_stood_are_settled_as_ever(tmp_path: Path) -> None:
    with nap_site(tmp_path, "--no-upkeep") as site, ThreadPoolExecutor(1) as thread:
        for _ in range(4):
            site.enqueue(0)
        taken, late, failed, beaten = held = [claimed(site) for _ in range(4)]
        with stopped(site.server):
            beat = thread.submit(told, site, "heartbeat", beaten)
            time.sleep(STOOD_SECONDS)

        lease = beat.result()
        again = claimed(site)
        settled = [site.server.job(site.key, job["id"]) for job in (late, failed)]
        stale = [told(site, "complete", taken), told(site, "fail", failed)]
        done = [told(site, "complete", job) for job in (late, beaten, again)]

        assert (again["id"], again["attempt"], again["retry_count"]) == (taken["id"], 2, 1)
        assert again["run_at"] == taken["lease_expires_at"]
        for job, before in zip(settled, held[1:], strict=False):
            assert (job["status"], job["retry_count"]) == ("pending", 1)
            ended_at = before["lease_expires_at"]
            assert (job["error_code"], job["run_at"]) == ("lease_expired", ended_at)
        assert [(one.status, one.json["code"]) for one in stale] == [(409, "lease-lost")] * 2
        assert lease.status == 200
        assert lease.json["lease_expires_at"] > beaten["lease_expires_at"]
        assert [(one.status, one.json["retry_count"]) for one in done] == [(200, 0)] * 2 + [
            (200, 1)
        ]
        ends = [site.outcomes(job["id"]) for job in held]
        assert ends == [["expired", "completed"], ["completed"], ["expired"], ["completed"]]


def test_workers_that_stand_still_at_random_complete_each_job_once(tmp_path: Path) -> None:
    """All have one key, so that nothing but the attempt tells them apart."""
    chance = random.Random(seed())
    with nap_site(tmp_path) as site, ExitStack() as stack:
        workers = [stack.enter_context(site.worker("work")) for _ in range(WORKERS)]
        jobs: list[int] = []
        taken_over = 0
        while taken_over < STALLS:
            jobs += [site.enqueue(chance.uniform(0.5, 0.9)) for _ in range(2 * WORKERS)]
            eventually(lambda: numbers(site).get("running") == WORKERS, "all of them work")
            with stopped(chance.choice(workers)):
                time.sleep(chance.uniform(0, LEASE_SECONDS / 4))
            with stopped(chance.choice(workers)):
                taken_over += is_taken_over(site)
        for job_id in jobs:
            site.completed(job_id)
        assert [worker.stop() for worker in workers] == [0] * WORKERS

        ends = [site.outcomes(job_id) for job_id in jobs]
    expired = sum(len(outcomes) - 1 for outcomes in ends)
    losses = sum(len(told_of_the_loss(worker)) for worker in workers)
    sys.stdout.write(f"{len(jobs)} jobs, {expired} leases ran out, {losses} stale reports\n")
    assert ends == [["expired"] * (len(outcomes) - 1) + ["completed"] for outcomes in ends]
    assert expired >= losses >= STALLS
    assert len(set(site.naps())) == len(site.naps()) == len(jobs) + expired
    assert not any("Traceback" in worker.log for worker in workers)


def is_taken_over(site: Site) -> bool:
    """Wait until somebody else runs the job of the one that stands still; False if it has none."""

    def attempts_again() -> int:
        return sum(not line.endswith(" 1") for line in site.naps())

    before = attempts_again()
    eventually(lambda: attempts_again() > before or not numbers(site), "others do it", 30)
    return attempts_again() > before


def numbers(site: Site) -> dict[str, int]:
    """Jobs that are not completed, by status."""
    found = site.server.call("GET", "/stats", site.key).json["types"]["nap"]
    return {status: n for status, n in found.items() if n and status != "completed"}
