"""Producers and workers that write down all they do, made to be killed: the next life of each goes
on where the file of the last one ends.

Now and then a worker oversleeps its lease, or reports on what is not its own.
"""

import itertools
import os
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from queuelog_core.client import (
    Claimed,
    Client,
    HttpTransport,
    Job,
    Lease,
    Unreachable,
    new_job,
)
from queuelog_core.client.retries import Patience
from tests.support.history import UNKNOWN, Call, Recorder, read_life
from tests.support.history_evidence import Grant, milliseconds

TYPES = ("email", "pdf")
PRIORITIES = ("low", "medium", "high", "critical")
CALL_SECONDS = 30.0
PAUSE_SHARE = 0.2
"""Of the pauses between tries: the shorter they are, the more get into a kill."""
NAP_SECONDS = 0.02


class Life(NamedTuple):
    """One process: which of a crew and the how-manieth in its place, where, in whose name."""

    folder: Path
    name: str
    number: int
    identity: str
    key: str
    server: str
    url: str
    seed: int
    lease_seconds: int

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.{self.number}.jsonl"

    def last_call(self, *verbs: str) -> Call | None:
        """The last such call of all lives before this one."""
        for number in reversed(range(self.number)):
            calls = read_life(self._replace(number=number).path).calls
            found = [call for call in calls if call.verb in verbs]
            if found:
                return found[-1]
        return None


class _Caller:
    """A client whose calls are written down."""

    def __init__(self, life: Life) -> None:
        redirect(life.folder / f"{life.name}.log")
        self.life = life
        name = f"{life.name}.{life.number}"
        self.chance = random.Random(f"{life.seed} {name}")
        self.recorder = Recorder(life.path, name, life.identity, life.server)
        transport = self.recorder.watched(HttpTransport(life.url, CALL_SECONDS))
        patience = Patience(CALL_SECONDS, sleep=lambda seconds: time.sleep(seconds * PAUSE_SHARE))
        self.client = Client(life.url, life.key, transport=transport, patience=patience)

    def happens(self, share: float) -> bool:
        return self.chance.random() < share

    def is_told(self, what: str) -> bool:
        return (self.life.folder / what).exists()


class Producer(_Caller):
    """Enqueues until it is told to stop. Its keys are numbers, the same as those of all others."""

    def run(self) -> None:
        last = self.life.last_call("enqueue")
        done = int(last.asked["jobs"][-1]["idempotency_key"]) if last else 0
        # Acknowledged or not: who was killed does not remember. Some never ask again.
        if last and self.happens(0.7):
            self._enqueue(last.asked["jobs"])
        while not self.is_told("stop"):
            count = self.chance.randint(2, 5) if self.happens(0.1) else 1
            jobs = [self._job(number) for number in range(done + 1, done + 1 + count)]
            done += count
            made = self._enqueue(jobs)
            if made and self.happens(0.04):
                self._cancel(made[0])
            time.sleep(self.chance.uniform(0, 2 * NAP_SECONDS))

    def _job(self, number: int) -> dict[str, Any]:
        return new_job(
            self.chance.choice(TYPES),
            {"of": self.life.identity, "number": number},
            priority=self.chance.choice(PRIORITIES),
            max_retries=self.chance.randint(0, 2) if self.happens(0.1) else 25,
            delay_seconds=1 if self.happens(0.05) else None,
            idempotency_key=str(number),
        )

    def _enqueue(self, jobs: list[dict[str, Any]]) -> list[int]:
        def send() -> list[int]:
            if len(jobs) > 1:
                return [each.id or 0 for each in self.client.enqueue_many(jobs)]
            body = {name: value for name, value in jobs[0].items() if name != "type"}
            return [self.client.enqueue(jobs[0]["type"], **body).id]

        told = self.recorder.call("enqueue", {"jobs": jobs}, send, lambda ids: {"ids": ids})
        return told or []

    def _cancel(self, job_id: int) -> None:
        call = partial(self.client.cancel, job_id)
        self.recorder.call("cancel", {"job": job_id}, call, lambda job: {"status": job.status})


class Worker(_Caller):
    """Claims and reports until it is told to stop and nothing is left."""

    def __init__(self, life: Life) -> None:
        super().__init__(life)
        self._over: list[Job] = []

    def run(self) -> None:
        last = self.life.last_call("claim")
        if last and last.outcome == UNKNOWN and self.happens(0.5):
            self._work_on(self._claim({**last.asked, "again": True}))
        for number in itertools.count():
            is_last_round = self.is_told("drain")
            key = f"{self.life.name} {self.life.number} {number}"
            limit = self.chance.randint(1, 3)
            got = self._claim({"key": key, "limit": limit, "again": False})
            if is_last_round and got and not got.jobs and got.next_due_in_seconds is None:
                return
            self._work_on(got)
            if self.happens(0.1):
                self._trespass()

    def _claim(self, asked: Mapping[str, Any]) -> Claimed | None:
        def send() -> Claimed:
            return self.client.claim(TYPES, limit=asked["limit"], idempotency_key=asked["key"])

        return self.recorder.call("claim", asked, send, _told_of_claim)

    def _work_on(self, got: Claimed | None) -> None:
        jobs = got.jobs if got else []
        for job in jobs:
            if self.happens(0.01) and not self.is_told("drain"):
                time.sleep(self.life.lease_seconds + 0.2)
            if self.happens(0.1):
                beat = partial(self.client.heartbeat, job)
                self._report("heartbeat", job, beat, _told_of_lease)
            self._end(job)
        if not jobs:
            time.sleep(NAP_SECONDS)

    def _end(self, job: Job) -> None:
        kind = self.chance.random()
        if kind < 0.84:
            self._complete(job)
            return
        self._over.append(job)
        if kind < 0.92:
            send = partial(self.client.fail, job, error_code="tried", retryable=kind > 0.85)
            self._report("fail", job, send, _told_of_job)
        else:
            self._report("release", job, partial(self.client.release, job), _told_of_job)

    def _trespass(self) -> None:
        """Complete what is another's, or what this process itself has given up."""
        if self._over and self.happens(0.3):
            self._complete(self.chance.choice(self._over), odd=True)
            return
        with suppress(Unreachable):
            found = itertools.islice(self.client.jobs(status="running", limit=20), 20)
            others = [job for job in found if job.worker_id != self.life.identity]
            if others:
                self._complete(self.chance.choice(others), odd=True)

    def _complete(self, job: Job, *, odd: bool = False) -> None:
        result = {"by": f"{self.life.name}.{self.life.number}", "odd": odd}
        send = partial(self.client.complete, job, result)
        self._report("complete", job, send, _told_of_job, result=result, odd=odd)

    def _report(self, verb: str, job: Job, send: Any, tell: Any, **more: Any) -> None:
        asked = {"job": job.id, "attempt": job.attempt, "odd": False, **more}
        self.recorder.call(verb, asked, send, tell)


def _told_of_claim(got: Claimed) -> Mapping[str, Any]:
    return {"jobs": [_grant(job) for job in got.jobs]}


def _grant(job: Job) -> Grant:
    assert job.claimed_at and job.lease_expires_at
    lease = milliseconds(job.claimed_at), milliseconds(job.lease_expires_at)
    return Grant(job.id, job.attempt, *lease, milliseconds(job.run_at), job.priority)


def _told_of_job(job: Job) -> Mapping[str, Any]:
    return {"status": job.status}


def _told_of_lease(lease: Lease) -> Mapping[str, Any]:
    return {"lease_expires_at": milliseconds(lease.lease_expires_at)}


def produce(life: Life) -> None:
    """What a producer's process does."""
    Producer(life).run()


def work(life: Life) -> None:
    """What a worker's process does."""
    Worker(life).run()


def redirect(path: Path) -> None:
    """Send what this process says, a traceback for instance, to a file."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
