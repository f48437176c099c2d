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
REDRIVEN = SAMPLE | {
    "attempt": 4,
    "error_code": "smtp_down",
    "updated_at": "2026-11-29T12:10:00.000Z",
    "run_at": "2026-11-29T12:10:00.000Z",
}
CANCELLED = SAMPLE | {
    "status": "cancelled",
    "updated_at": "2026-11-29T12:00:02.000Z",
    "finished_at": "2026-11-29T12:00:02.000Z",
}
CANCEL_ASKED = CLAIMED | {
    "idempotency_key": "welcome-ada",
    "updated_at": "2026-11-29T12:00:02.000Z",
    "cancel_requested_at": "2026-11-29T12:00:02.000Z",
}
ATTEMPTS = {
    "attempts": [
        {
            "attempt": 1,
            "worker_id": "mailer",
            "claimed_at": "2026-11-29T12:00:01.000Z",
            "ended_at": "2026-11-29T12:00:02.000Z",
            "outcome": "failed",
            "error_code": "smtp_down",
            "error": None,
        }
    ],
    "dropped": 0,
}
LEASE = {
    "lease_expires_at": "2026-11-29T12:07:00.000Z",
    "lease_seconds_remaining": 300,
    "cancel_requested": False,
}
BATCH = {
    "results": [
        {"index": 0, "status": 201, "id": 42, "replayed": False, "payload_mismatch": False},
        {
            "index": 1,
            "status": 422,
            "error": {
                "type": "urn:queuelog:problem:validation-failed",
                "title": "The request is not valid",
                "status": 422,
                "detail": "See errors.",
                "code": "validation-failed",
                "request_id": "0f9d3c1b2a4e5f60",
                "errors": [
                    {
                        "field": "type",
                        "code": "not-allowed",
                        "message": "This type is not on the allowlist.",
                    }
                ],
            },
        },
    ]
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
    "batch": {
        "two": {
            "value": {
                "jobs": [
                    {"type": "email", "payload": {"to": "ada"}, "idempotency_key": "welcome-ada"},
                    {"type": "email", "payload": {"to": "bob"}, "idempotency_key": "welcome-bob"},
                ]
            }
        }
    },
    "claim": {
        "any": {"value": {}},
        "many": {"value": {"limit": 10}},
        "some": {"value": {"types": ["email"], "lease_seconds": 60}},
    },
    "heartbeat": {"extend": {"value": {"attempt": 1, "extend_seconds": 120}}},
    "release": {"later": {"value": {"attempt": 1, "delay_seconds": 30}}},
    "cancel": {"empty": {"value": {}}},
    "redrive": {"empty": {"value": {}}},
    "redrive_many": {
        "look": {
            "value": {"filter": {"status": "failed", "type": "email"}, "limit": 50, "dry_run": True}
        },
        "everything": {"value": {"all": True}},
    },
    "complete": {"done": {"value": {"attempt": 1, "result": {"message_id": "m-1"}}}},
    "fail": {
        "retry": {
            "value": {"attempt": 1, "error": "connection refused", "error_code": "smtp_down"}
        },
        "for_good": {"value": {"attempt": 1, "error_code": "no_such_address", "retryable": False}},
    },
}
