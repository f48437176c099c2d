"""What the racers of tests/system/test_barrier_races.py find laid down, and what they do."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

from queuelog_core.errors import IdempotencyKeyReused
from queuelog_core.job import Job
from queuelog_core.leases import Wanted
from queuelog_core.queue import Enqueued, Queue
from tests.support.factories import (
    LEASE,
    NOON,
    FakeClock,
    admin,
    document,
    new_job,
    producer,
    worker,
)
from tests.support.processes import until_free
from tests.support.races import Round

KEY_THREADS = 8
EXTENSION = 2 * LEASE
FOR_LONG = 43_200
SHOP, OWNER, TAKER = producer(), worker("owner"), worker("taker")


def enqueue(queue: Queue, number: int) -> list[Round]:
    """So many jobs, one due in each millisecond from noon on."""
    many = [new_job(run_at=NOON + each) for each in range(number)]
    sent = queue.enqueue_many(SHOP, many)
    return [Round(one.job.id, one.job.run_at) for one in sent if isinstance(one, Enqueued)]


def held(queue: Queue, clock: FakeClock, number: int) -> list[Job]:
    """So many jobs in the hands of their owner, whose leases end one in each millisecond."""
    enqueue(queue, number)
    jobs: list[Job] = []
    for each in range(number):
        clock.now = NOON + each
        jobs += queue.leases.claim(OWNER, Wanted(lease_seconds=LEASE // 1000)).jobs
    return jobs


def failed(queue: Queue, number: int) -> list[Round]:
    """So many jobs that failed for good."""
    queue.enqueue_many(SHOP, [new_job(max_retries=0) for _ in range(number)])
    claimed = [queue.leases.claim(OWNER, Wanted()).jobs[0] for _ in range(number)]
    for job in claimed:
        queue.leases.fail(
            OWNER,
            job.id,
            job.attempt,
            error=None,
            error_code=None,
            retryable=True,
            retry_in_seconds=None,
        )
    return [Round(job.id, NOON + LEASE) for job in claimed]


def claim(queue: Queue, each: Round, name: str) -> str:
    taken = queue.leases.claim(worker(name), Wanted(lease_seconds=FOR_LONG)).jobs
    assert [job.id for job in taken] in ([], [each.number])
    return "claimed" if taken else "nothing"


def complete(queue: Queue, each: Round) -> str:
    done = queue.leases.complete(OWNER, each.number, 1, document({"sent": True}))
    return "replayed" if done.replayed else "completed"


def settle(queue: Queue, each: Round) -> str:
    return f"settled {queue.leases.recover(1000)}"


def beat(queue: Queue, each: Round) -> str:
    job = queue.leases.heartbeat(OWNER, each.number, 1, EXTENSION // 1000)
    return "extended" if job.lease_expires_at == each.now + EXTENSION else "not extended"


def redrive(queue: Queue, each: Round, name: str) -> str:
    return "replayed" if queue.redrive(admin(name), each.number).replayed else "redriven"


def cancel(queue: Queue, each: Round) -> str:
    return str(queue.cancel(SHOP, each.number).job.status)


def send_one_request(queue: Queue, each: Round) -> str:
    """What each of some callers in this process was told: the id, and whether it is new."""

    def send(_: int) -> str:
        new = new_job(idempotency_key=f"key {each.number}")
        _threads_meet().wait()
        sent = until_free(partial(queue.enqueue, SHOP, new))
        return f"{sent.job.id}{' new' if sent.created else ''}{' other' if sent.mismatch else ''}"

    return ", ".join(_threads().map(send, range(KEY_THREADS)))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(KEY_THREADS)


@cache
def _threads_meet() -> threading.Barrier:
    return threading.Barrier(KEY_THREADS, timeout=60)


def send_another(queue: Queue, each: Round, name: str) -> str:
    """A request under a key that somebody else uses for another one."""
    new = new_job(payload={"by": name}, idempotency_key=f"key {each.number}")
    try:
        sent = queue.enqueue(SHOP, new._replace(key_from_header=name == "header"))
    except IdempotencyKeyReused:
        return "refused"
    return "new" if sent.created else f"mismatch {sent.mismatch}"


def known(queue: Queue, each: Round) -> Job:
    """The job that the key of this round stands for."""
    return queue.enqueue(SHOP, new_job(idempotency_key=f"key {each.number}")).job
