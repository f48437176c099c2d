"""What the routes of workers do: claim, and the four reports."""

from queuelog_core.clock import format_instant
from queuelog_core.http.bodies import (
    ClaimBody,
    CompleteBody,
    FailBody,
    HeartbeatBody,
    ReleaseBody,
)
from queuelog_core.http.call import (
    REPLAYED,
    Call,
    Reply,
    job_reply,
    key_from_header,
    reported_reply,
)
from queuelog_core.http.present import present
from queuelog_core.leases import Wanted


def claim(call: Call) -> Reply:
    body: ClaimBody = call.parsed
    leases = call.queue.leases
    key = key_from_header(call.key_header)
    claimed = leases.claim(call.identity, Wanted(body.types, body.lease_seconds, body.limit, key))
    headers = REPLAYED if claimed.replayed else {}
    if body.limit is not None:
        jobs = [present(job, call.identity) for job in claimed.jobs]
        wait = claimed.next_due_in_seconds
        return Reply(200, {"jobs": jobs, "next_due_in_seconds": wait}, headers, jobs=len(jobs))
    if claimed.jobs:
        return job_reply(call, claimed.jobs[0], headers=headers)
    retry_after = leases.poll_after_seconds(call.identity, body.types)
    return Reply(204, headers={"Retry-After": str(retry_after)})


def complete(call: Call) -> Reply:
    body: CompleteBody = call.parsed
    return reported_reply(
        call, call.queue.leases.complete(call.identity, call.job_id, body.attempt, body.result)
    )


def fail(call: Call) -> Reply:
    body: FailBody = call.parsed
    reported = call.queue.leases.fail(
        call.identity,
        call.job_id,
        body.attempt,
        error=body.error,
        error_code=body.error_code,
        retryable=body.retryable,
        retry_in_seconds=body.retry_in_seconds,
    )
    return reported_reply(call, reported)


def heartbeat(call: Call) -> Reply:
    body: HeartbeatBody = call.parsed
    job = call.queue.leases.heartbeat(call.identity, call.job_id, body.attempt, body.extend_seconds)
    assert job.lease_expires_at is not None, "only a running job takes a heartbeat"
    return Reply(
        200,
        {
            "lease_expires_at": format_instant(job.lease_expires_at),
            "lease_seconds_remaining": max(0, job.lease_expires_at - call.queue.clock()) // 1000,
            "cancel_requested": job.cancel_requested_at is not None,
        },
    )


def release(call: Call) -> Reply:
    body: ReleaseBody = call.parsed
    return reported_reply(
        call,
        call.queue.leases.release(call.identity, call.job_id, body.attempt, body.delay_seconds),
    )
