"""A job as its reader may see it: hidden fields are null, never absent."""

import json
from typing import Any

from queuelog_core.clock import format_instant
from queuelog_core.identity import Identity, Role
from queuelog_core.job import Job


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


def _instant(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)
