"""What was acknowledged, and what of it a store does not have.

The scenarios' clock stands still, so no lease runs out and each job is claimed once at most.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from queuelog_core.job import Job, Status
from queuelog_core.stores import Store

Entry = Sequence[Any]
"""A verb, the job's id, and what was told about it."""


def enqueued(job: Job) -> Entry:
    return ("enqueue", job.id, job.idempotency_key)


def claimed(job: Job) -> Entry:
    return ("claim", job.id, job.worker_id)


def completed(job: Job) -> Entry:
    return ("complete", job.id, job.worker_id)


def problems(store: Store, entries: Iterable[Entry]) -> list[str]:
    """What is wrong with the file, and each acknowledgement that it does not bear out."""
    found: list[str] = list(store.check())  # type: ignore[attr-defined]
    claims: Counter[int] = Counter()
    for verb, job_id, detail in entries:
        claims[job_id] += verb == "claim"
        job = store.get(job_id)
        if job is None or not _bears_out(job, verb, detail):
            now = job and (job.status, job.idempotency_key, job.history)
            found.append(f"lost: {verb} of job {job_id} ({detail}); there is {now}")
    found += [f"job {job_id} was claimed {n} times" for job_id, n in claims.items() if n > 1]
    return found


def _bears_out(job: Job, verb: str, detail: str) -> bool:
    match verb:
        case "enqueue":
            return job.idempotency_key == detail
        case "claim":
            return [attempt.worker_id for attempt in job.history] == [detail]
        case _:
            return job.status is Status.COMPLETED and job.worker_id == detail
