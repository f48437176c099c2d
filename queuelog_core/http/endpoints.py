"""What the routes of producers, readers and admins do: a pure step from a Call to a Reply."""

from typing import Any

from queuelog_core.errors import QueuelogError, invalid
from queuelog_core.http.bodies import (
    BatchBody,
    EnqueueBody,
    ListQuery,
    RedriveManyBody,
)
from queuelog_core.http.call import (
    REPLAYED,
    Call,
    Reply,
    job_reply,
    key_from_header,
    reported_reply,
)
from queuelog_core.http.cursor import decode_cursor, encode_cursor
from queuelog_core.http.present import present, present_attempts, present_problem
from queuelog_core.job import Status
from queuelog_core.new_job import NewJob
from queuelog_core.queue import Enqueued
from queuelog_core.stores import Dead, Filter


def enqueue(call: Call) -> Reply:
    body: EnqueueBody = call.parsed
    header = key_from_header(call.key_header)
    if header is not None and body.idempotency_key not in (None, header):
        raise invalid("idempotency_key", "conflict", "The header names another key.")
    enqueued = call.queue.enqueue(call.identity, _new_job(body, header))
    headers = {"Location": f"/jobs/{enqueued.job.id}"}
    if not enqueued.created:
        headers |= REPLAYED
    if enqueued.mismatch:
        headers["Idempotency-Payload-Mismatch"] = "true"
    return job_reply(call, enqueued.job, 201 if enqueued.created else 200, headers)


def batch(call: Call) -> Reply:
    body: BatchBody = call.parsed
    if call.key_header is not None:
        # One key for all of them would have to be remembered apart from the jobs.
        raise invalid("Idempotency-Key", "conflict", "Give each job its own idempotency_key.")
    good = [_new_job(item) for item in body.jobs if isinstance(item, EnqueueBody)]
    done = iter(call.queue.enqueue_many(call.identity, good))
    outcomes = [next(done) if isinstance(item, EnqueueBody) else item for item in body.jobs]
    results = [_batch_result(call, index, outcome) for index, outcome in enumerate(outcomes)]
    return Reply(200, {"results": results}, jobs=len(results))


def list_jobs(call: Call) -> Reply:
    query: ListQuery = call.parsed
    where = Filter(
        status=query.status,
        type=query.type,
        priority=query.priority,
        producer_id=query.producer_id,
        worker_id=query.worker_id,
        created_after=query.created_after,
        created_before=query.created_before,
        newest_first=query.order,
    )
    reader = call.identity.name
    after = None if query.cursor is None else decode_cursor(query.cursor, where, reader)
    page = call.queue.list(call.identity, where, query.limit, after)
    jobs = [present(job, call.identity) for job in page.jobs]
    cursor = None if page.next is None else encode_cursor(page.next, where, reader)
    return Reply(200, {"jobs": jobs, "next_cursor": cursor})


def get(call: Call) -> Reply:
    return job_reply(call, call.queue.get(call.identity, call.job_id))


def attempts(call: Call) -> Reply:
    job, errors = call.queue.attempts(call.identity, call.job_id)
    return Reply(200, present_attempts(job, errors))


def cancel(call: Call) -> Reply:
    reported = call.queue.cancel(call.identity, call.job_id)
    return reported_reply(call, reported, 202 if reported.job.status is Status.RUNNING else 200)


def redrive(call: Call) -> Reply:
    return reported_reply(call, call.queue.redrive(call.identity, call.job_id))


def redrive_many(call: Call) -> Reply:
    body: RedriveManyBody = call.parsed
    where = Dead() if body.filter is None else Dead(**body.filter._asdict())
    done = call.queue.redrive_many(call.identity, where, body.limit, dry_run=body.dry_run)
    return Reply(200, done._asdict())


def _new_job(body: EnqueueBody, key_header: str | None = None) -> NewJob:
    return NewJob(
        type=body.type,
        payload=body.payload,
        priority=body.priority,
        max_retries=body.max_retries,
        idempotency_key=body.idempotency_key if key_header is None else key_header,
        key_from_header=key_header is not None,
        run_at=body.run_at,
        delay_seconds=body.delay_seconds,
    )


def _batch_result(call: Call, index: int, outcome: Enqueued | QueuelogError) -> dict[str, Any]:
    if isinstance(outcome, QueuelogError):
        error = present_problem(outcome, call.request_id)
        return {"index": index, "status": outcome.status, "error": error}
    return {
        "index": index,
        "status": 201 if outcome.created else 200,
        "id": outcome.job.id,
        "replayed": not outcome.created,
        "payload_mismatch": outcome.mismatch,
    }
