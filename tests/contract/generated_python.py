"""A program on the client that openapi-python-client makes: one job from enqueue to completed.

usage: python generated_python.py URL PRODUCER_KEY WORKER_KEY; it prints the job's id.
"""

import sys

from generated_queuelog import AuthenticatedClient
from generated_queuelog.api.claim import claim
from generated_queuelog.api.complete import complete
from generated_queuelog.api.enqueue import enqueue
from generated_queuelog.models import ClaimBody, CompleteBody, EnqueueBody, Job, JobStatus

url, producer_key, worker_key = sys.argv[1:]


def caller(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(url, token=key, auth_header_name="X-API-Key", prefix="")


enqueued = enqueue.sync(client=caller(producer_key), body=EnqueueBody("email", priority="high"))
assert isinstance(enqueued, Job), enqueued
worker = caller(worker_key)
job = claim.sync(client=worker, body=ClaimBody(types=["email"]))
assert isinstance(job, Job), job
report = CompleteBody(attempt=job.attempt, result={"sent": True})
done = complete.sync(job.id, client=worker, body=report)
assert isinstance(done, Job), done
assert (done.id, done.status) == (enqueued.id, JobStatus.COMPLETED)
sys.stdout.write(f"{done.id}\n")
