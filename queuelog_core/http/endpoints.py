"""What each route does with a parsed request: a pure step from a Call to a Reply."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from queuelog_core.clock import format_instant
from queuelog_core.errors import StoreUnavailable, invalid
from queuelog_core.http.bodies import (
    KEY,
    ClaimBody,
    CompleteBody,
    EnqueueBody,
    FailBody,
    ListQuery,
)
from queuelog_core.http.cursor import decode_cursor, encode_cursor
from queuelog_core.http.present import present
from queuelog_core.http.rules import Refused
from queuelog_core.identity import Identity
from queuelog_core.job import Job, Priority, Status
from queuelog_core.new_job import NewJob
from queuelog_core.probe import Probe
from queuelog_core.queue import Queue, Reported
from queuelog_core.stores import Count, Filter


class Call(NamedTuple):
    """One request after all checks of the front: who asks, and the parsed body or query."""

    queue: Queue
    probe: Probe
    caller: Identity | None
    parsed: Any = None
    job_id: int = 0
    key_header: str | None = None

    @property
    def identity(self) -> Identity:
        assert self.caller is not None, "the route table lets nobody in without an identity"
        return self.caller


class Reply(NamedTuple):
    """Status, JSON document (None: no body) and headers; `job_id` is for the log."""

    status: int
    document: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    job_id: int | None = None


def enqueue(call: Call) -> Reply:
    body: EnqueueBody = call.parsed
    header = _key_from_header(call.key_header)
    if header is not None and body.idempotency_key not in (None, header):
        raise invalid("idempotency_key", "conflict", "The header names another key.")
    enqueued = call.queue.enqueue(
        call.identity,
        NewJob(
            type=body.type,
            payload=body.payload,
            priority=body.priority,
            max_retries=body.max_retries,
            idempotency_key=body.idempotency_key if header is None else header,
            key_from_header=header is not None,
            run_at=body.run_at,
            delay_seconds=body.delay_seconds,
        ),
    )
    headers = {"Location": f"/jobs/{enqueued.job.id}"}
    if not enqueued.created:
        headers["Idempotent-Replayed"] = "true"
    if enqueued.mismatch:
        headers["Idempotency-Payload-Mismatch"] = "true"
    return _job(call, enqueued.job, 201 if enqueued.created else 200, headers)


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
    return _job(call, call.queue.get(call.identity, call.job_id))


def claim(call: Call) -> Reply:
    body: ClaimBody = call.parsed
    job = call.queue.claim(call.identity, body.types, body.lease_seconds)
    if job is not None:
        return _job(call, job)
    wait = call.queue.poll_after_seconds(call.identity, body.types)
    return Reply(204, headers={"Retry-After": str(wait)})


def complete(call: Call) -> Reply:
    body: CompleteBody = call.parsed
    return _reported(
        call, call.queue.complete(call.identity, call.job_id, body.attempt, body.result)
    )


def fail(call: Call) -> Reply:
    body: FailBody = call.parsed
    reported = call.queue.fail(
        call.identity,
        call.job_id,
        body.attempt,
        error=body.error,
        error_code=body.error_code,
        retryable=body.retryable,
        retry_in_seconds=body.retry_in_seconds,
    )
    return _reported(call, reported)


def stats(call: Call) -> Reply:
    numbers = call.queue.stats(call.identity)
    now = call.queue.clock()
    known = [name for name in call.queue.job_types if call.identity.may_use(name)]
    types = {
        name: {status.value: numbers.statuses.get(name, {}).get(status, 0) for status in Status}
        for name in sorted({*known, *numbers.statuses})
    }
    ages = {
        priority.label: _age(numbers.oldest_due_at[priority], now)
        for priority in sorted(Priority, reverse=True)
    }
    return Reply(
        200,
        {
            "as_of": format_instant(now),
            "exact": numbers.exact,
            "types": types,
            "due": _count(numbers.due),
            "delayed": _count(numbers.delayed),
            "expired_leases": _count(numbers.expired_leases),
            "oldest_due_age_seconds": ages,
            "late_reports": numbers.late_reports,
        },
    )


def whoami(call: Call) -> Reply:
    from queuelog_core.http.routes import ROUTES

    identity = call.identity
    usable = [name for name in sorted(call.queue.job_types) if identity.may_use(name)]
    return Reply(
        200,
        {
            "name": identity.name,
            "role": identity.role.value,
            "priority_max": identity.priority_max.label,
            "types": None if identity.types is None else sorted(identity.types),
            "usable_types": usable,
            "may": [
                f"{r.method} {r.path}" for r in ROUTES if not r.roles or identity.role in r.roles
            ],
        },
    )


def health(call: Call) -> Reply:
    found = call.probe.health()
    document = {
        "status": "ok" if found.is_writable else "unavailable",
        "age_seconds": math.floor(found.age_seconds),
    }
    if found.is_writable:
        return Reply(200, document)
    return Reply(503, document, {"Retry-After": str(StoreUnavailable.retry_after_seconds)})


def openapi(_: Call) -> Reply:
    from queuelog_core.http.openapi import openapi_document

    return Reply(200, openapi_document())


def _job(
    call: Call, job: Job, status: int = 200, headers: Mapping[str, str] | None = None
) -> Reply:
    return Reply(status, present(job, call.identity), headers or {}, job.id)


def _reported(call: Call, reported: Reported) -> Reply:
    headers = {"Idempotent-Replayed": "true"} if reported.replayed else {}
    return _job(call, reported.job, headers=headers)


def _key_from_header(header: str | None) -> str | None:
    """The key as it stands. A WSGI header is bytes in Latin-1's clothes; a key is UTF-8."""
    if header is None:
        return None
    try:
        key: str = KEY.check(header.encode("latin-1").decode("utf-8"))
    except (UnicodeError, Refused):
        raise invalid("Idempotency-Key", "wrong-format", "1 to 255 printable characters.") from None
    return key


def _count(count: Count) -> dict[str, Any]:
    return {"count": count.count, "capped": count.capped}


def _age(due_at: int | None, now: int) -> float | None:
    return None if due_at is None else max(0, now - due_at) / 1000
