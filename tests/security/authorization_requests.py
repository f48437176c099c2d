"""Who asks in the authorization table, about a job in which state, and what is sent."""

from typing import Any

CALLERS = {
    "none": "nobody",
    "empty": "an empty key",
    "junk": "an unknown key",
    "revoked": "a revoked key",
    "expired": "an expired key",
    "prodA": "its producer",
    "prodB": "another producer",
    "workA": "its worker",
    "workB": "another worker",
    "notype": "a worker of other types",
    "admin": "an admin",
}
# Name, role, highest priority and types; those that are dead could do everything once.
KEYS: dict[str, tuple[str, str, str, list[str] | None]] = {
    "revoked": ("gone", "admin", "critical", None),
    "expired": ("late", "admin", "critical", None),
    "prodA": ("shop", "producer", "high", ["email"]),
    "prodB": ("blog", "producer", "low", None),
    "workA": ("mailer", "worker", "medium", ["email"]),
    "workB": ("printer", "worker", "medium", None),
    "notype": ("painter", "worker", "medium", ["pdf"]),
    "admin": ("root", "admin", "critical", None),
}
UNFIT = ("none", "empty", "junk", "revoked", "expired")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STATES = {
    "malformed": "an id that is none",
    "absent": "a job that does not exist",
    "pending": "a pending job",
    "delayed": "a delayed job",
    "lapsed": "a job that waits again since its lease ran out",
    "redriven": "a job that waits again since an admin redrove it",
    "running": "a running job",
    "overdue": "a running job whose lease has run out",
    "asked": "a running job that was asked to stop",
    "held": "a job that an admin runs",
    "completed": "a completed job",
    "failed": "a failed job",
    "cancelled": "a cancelled job",
}
BODIES: dict[str, dict[str, Any]] = {
    "POST /jobs": {
        "email": {"type": "email"},
        "pdf": {"type": "pdf"},
        "high": {"type": "email", "priority": "high"},
        "off-list": {"type": "fax"},
        "known": {"type": "email", "idempotency_key": "known-key"},
        "no-object": [],
    },
    "POST /jobs/batch": {"no-object": []},
    "POST /jobs/claim": {
        "many": {"limit": 25},
        "email": {"types": ["email"]},
        "pdf": {"types": ["pdf"]},
        "sync": {"types": ["sync"]},
        "off-list": {"types": ["fax"]},
        "no-object": [],
    },
    "POST /jobs/redrive": {
        "failed": {"filter": {"status": "failed"}},
        "cancelled": {"filter": {"status": "cancelled"}},
        "all": {"all": True},
        "counted": {"all": True, "dry_run": True},
        "off-list": {"filter": {"status": "failed", "type": "fax"}},
        "no-object": [],
    },
    "POST /jobs/{id}/complete": {"any": {"attempt": 1, "result": "secret-result"}},
    "POST /jobs/{id}/fail": {"any": {"attempt": 1, "error": "secret-error", "retryable": False}},
    "POST /jobs/{id}/heartbeat": {"any": {"attempt": 1}},
    "POST /jobs/{id}/release": {"any": {"attempt": 1}},
}
BODIES["POST /jobs/batch"]["each"] = {"jobs": [*BODIES["POST /jobs"].values()]}
