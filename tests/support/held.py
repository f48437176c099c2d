"""A job in a worker's hands, for tests that call a handler by themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

from queuelog_core.client import Job
from queuelog_core.worker import HeldJob


def held_job(job_type: str = "email", payload: Any = None, job_id: int = 7) -> HeldJob:
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    job = Job(
        id=job_id,
        type=job_type,
        payload={} if payload is None else payload,
        priority="medium",
        status="running",
        retry_count=0,
        max_retries=3,
        idempotency_key=None,
        claimed_at=now,
        worker_id="mailer",
        error=None,
        created_at=now,
        updated_at=now,
        run_at=now,
        attempt=1,
        lease_expires_at=now + timedelta(seconds=300),
        release_count=0,
        producer_id="shop",
        error_code=None,
        result=None,
        finished_at=None,
        cancel_requested_at=None,
    )
    return HeldJob(job)
