"""Examples in the OpenAPI document: jobs along their way, numbers, requests."""

from typing import Any

SAMPLE = {
    "id": 42,
    "type": "email",
    "payload": {"to": "ada@example.com", "subject": "Hello", "body": "It works."},
    "priority": "medium",
    "status": "pending",
    "retry_count": 0,
    "max_retries": 5,
    "idempotency_key": "welcome-ada",
    "claimed_at": None,
    "worker_id": None,
    "error": None,
    "created_at": "2026-11-29T12:00:00.000Z",
    "updated_at": "2026-11-29T12:00:00.000Z",
    "run_at": "2026-11-29T12:00:00.000Z",
    "attempt": 0,
    "lease_expires_at": None,
    "release_count": 0,
    "producer_id": "shop",
    "error_code": None,
    "result": None,
    "finished_at": None,
    "cancel_requested_at": None,
}
CLAIMED = SAMPLE | {
    "status": "running",
    "attempt": 1,
    "worker_id": "mailer",
    "idempotency_key": None,
    "claimed_at": "2026-11-29T12:00:01.000Z",
    "updated_at": "2026-11-29T12:00:01.000Z",
    "lease_expires_at": "2026-11-29T12:05:01.000Z",
}
COMPLETED = CLAIMED | {
    "status": "completed",
    "lease_expires_at": None,
    "result": {"message_id": "m-1"},
    "updated_at": "2026-11-29T12:00:02.000Z",
    "finished_at": "2026-11-29T12:00:02.000Z",
}
RETRIED = SAMPLE | {
    "attempt": 1,
    "retry_count": 1,
    "idempotency_key": None,
    "error_code": "smtp_down",
    "updated_at": "2026-11-29T12:00:02.000Z",
    "run_at": "2026-11-29T12:00:04.100Z",
}
STATS = {
    "as_of": "2026-11-29T12:00:00.000Z",
    "exact": True,
    "types": {"email": {"pending": 3, "running": 1, "completed": 9, "failed": 0, "cancelled": 0}},
    "due": {"count": 2, "capped": False},
    "delayed": {"count": 1, "capped": False},
    "expired_leases": {"count": 0, "capped": False},
    "oldest_due_age_seconds": {"low": None, "medium": 1.25, "high": None, "critical": None},
    "late_reports": 0,
}
IDENTITY = {
    "name": "shop",
    "role": "producer",
    "priority_max": "medium",
    "types": None,
    "usable_types": ["email", "pdf", "sync"],
    "may": ["POST /jobs", "GET /jobs", "GET /jobs/{id}", "GET /whoami"],
}

EXAMPLES: dict[str, Any] = {
    "enqueue": {
        "email": {"value": {"type": "email", "payload": SAMPLE["payload"]}},
        "delayed": {
            "value": {
                "type": "pdf",
                "payload": {"title": "Report"},
                "priority": "low",
                "delay_seconds": 600,
                "idempotency_key": "report-2026-11-29",
            }
        },
    },
    "claim": {
        "any": {"value": {}},
        "some": {"value": {"types": ["email"], "lease_seconds": 60}},
    },
    "complete": {"done": {"value": {"attempt": 1, "result": {"message_id": "m-1"}}}},
    "fail": {
        "retry": {
            "value": {"attempt": 1, "error": "connection refused", "error_code": "smtp_down"}
        },
        "for_good": {"value": {"attempt": 1, "error_code": "no_such_address", "retryable": False}},
    },
}
