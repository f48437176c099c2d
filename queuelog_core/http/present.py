"""Jobs, attempts and errors as their reader may see them: what is hidden is null, never absent."""

import json
from collections.abc import Mapping
from typing import Any

from queuelog_core.clock import format_instant
from queuelog_core.errors import FieldError, QueuelogError
from queuelog_core.identity import Identity, Role
from queuelog_core.job import Job

ERRORS_MAX = 20


def present(job: Job, reader: Identity) -> dict[str, Any]:
    """The job's fields, the thirteen of the original first."""
    reads_result = reader.role is not Role.WORKER or job.worker_id == reader.name
    return {
        "id": job.id,
        "type": job.type,
        "payload": json.loads(job.payload),
        "priority": job.priority.label,
        "status": job.status.value,
        "retry_count": job.retry_count,
        "max_retries": job.max_retries,
        "idempotency_key": None if reader.role is Role.WORKER else job.idempotency_key,
        "claimed_at": _instant(job.claimed_at),
        "worker_id": job.worker_id,
        "error": job.error if reader.role is Role.ADMIN else None,
        "created_at": format_instant(job.created_at),
        "updated_at": format_instant(job.updated_at),
        "run_at": format_instant(job.run_at),
        "attempt": job.attempt,
        "lease_expires_at": _instant(job.lease_expires_at),
        "release_count": job.release_count,
        "producer_id": job.producer_id,
        "error_code": job.error_code,
        "result": json.loads(job.result) if job.result and reads_result else None,
        "finished_at": _instant(job.finished_at),
        "cancel_requested_at": _instant(job.cancel_requested_at),
    }


def present_attempts(job: Job, errors: Mapping[int, str]) -> dict[str, Any]:
    """The newest attempts, oldest first, and how many older ones are gone."""
    attempts = [
        {
            "attempt": entry.attempt,
            "worker_id": entry.worker_id,
            "claimed_at": format_instant(entry.claimed_at),
            "ended_at": _instant(entry.ended_at),
            "outcome": None if entry.outcome is None else entry.outcome.value,
            "error_code": entry.error_code,
            "error": errors.get(entry.attempt),
        }
        for entry in job.history
    ]
    return {"attempts": attempts, "dropped": job.attempt - len(attempts)}


def present_problem(error: QueuelogError, request_id: str) -> dict[str, Any]:
    """The one form of error in RFC 9457's terms; of many faults it names the first twenty."""
    shown = list(error.errors[:ERRORS_MAX])
    if len(error.errors) > ERRORS_MAX:
        more = len(error.errors) - ERRORS_MAX
        shown.append(FieldError("", "more", f"There are {more} more."))
    return {
        "type": f"urn:queuelog:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "request_id": request_id,
        "errors": [
            {"field": fault.field, "code": fault.code, "message": fault.message} for fault in shown
        ],
    }


def _instant(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)
