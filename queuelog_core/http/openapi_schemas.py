"""Schemas of the answers in the OpenAPI document."""

from typing import Any

from queuelog_core.http.rules import INTEGER_MAX
from queuelog_core.identity import Role
from queuelog_core.job import Outcome, Priority, Status
from queuelog_core.transitions import HISTORY_MAX

_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"
_time = {"type": "string", "format": "date-time", "pattern": _INSTANT}
_maybe_time = _time | {"type": ["string", "null"]}
_text = {"type": "string"}
_maybe_text = {"type": ["string", "null"]}
_number = {"type": "integer", "minimum": 0}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_JOB = {
    "id": _ref("JobId"),
    "type": _text,
    "payload": {"type": "object", "additionalProperties": True},
    "priority": {"type": "string", "enum": [priority.label for priority in Priority]},
    "status": {"type": "string", "enum": [status.value for status in Status]},
    "retry_count": _number | {"description": "The retry budget spent."},
    "max_retries": _number,
    "idempotency_key": _maybe_text | {"description": "Null to workers."},
    "claimed_at": _maybe_time,
    "worker_id": _maybe_text,
    "error": _maybe_text | {"description": "Scrubbed text of the newest failure; admins only."},
    "created_at": _time,
    "updated_at": _time,
    "run_at": _time | {"description": "The earliest instant it may be claimed."},
    "attempt": _number | {"description": "Claims ever granted, and the fence of reports."},
    "lease_expires_at": _maybe_time,
    "release_count": _number,
    "producer_id": _text,
    "error_code": _maybe_text,
    "result": {"description": "Any JSON; null to workers other than its reporter."},
    "finished_at": _maybe_time,
    "cancel_requested_at": _maybe_time,
}
_COUNT = _object({"count": _number, "capped": {"type": "boolean"}})
_AGE = {"type": ["number", "null"], "minimum": 0}
_FIELD_ERROR = {"field": _text, "code": _text, "message": _text}

SCHEMAS: dict[str, Any] = {
    "JobId": {"type": "integer", "minimum": 1, "maximum": INTEGER_MAX},
    "Job": _object(_JOB),
    "JobList": _object(
        {"jobs": {"type": "array", "items": _ref("Job")}, "next_cursor": _maybe_text}
    ),
    "ClaimedJobs": _object(
        {
            "jobs": {"type": "array", "items": _ref("Job")},
            "next_due_in_seconds": {"type": ["integer", "null"], "minimum": 0},
        }
    ),
    "BatchResults": _object(
        {
            "results": {
                "type": "array",
                "items": {"oneOf": [_ref("BatchStored"), _ref("BatchRefused")]},
            }
        }
    ),
    "BatchStored": _object(
        {
            "index": _number,
            "status": {"type": "integer", "enum": [200, 201]},
            "id": _ref("JobId"),
            "replayed": {"type": "boolean"},
            "payload_mismatch": {"type": "boolean"},
        }
    ),
    "BatchRefused": _object(
        {"index": _number, "status": {"type": "integer", "minimum": 400}, "error": _ref("Problem")}
    ),
    "Lease": _object(
        {
            "lease_expires_at": _time,
            "lease_seconds_remaining": _number,
            "cancel_requested": {"type": "boolean"},
        }
    ),
    "Attempts": _object(
        {
            "attempts": {
                "type": "array",
                "maxItems": HISTORY_MAX,
                "items": _object(
                    {
                        "attempt": {"type": "integer", "minimum": 1},
                        "worker_id": _text,
                        "claimed_at": _time,
                        "ended_at": _maybe_time,
                        "outcome": {"enum": [*(outcome.value for outcome in Outcome), None]},
                        "error_code": _maybe_text,
                        "error": _maybe_text,
                    }
                ),
            },
            "dropped": _number,
        }
    ),
    "Redriven": _object({"matched": _number, "redriven": _number, "more": {"type": "boolean"}}),
    "Count": _COUNT,
    "Stats": _object(
        {
            "as_of": _time,
            "exact": {"type": "boolean", "description": "Whether the counts in types are exact."},
            "types": {
                "type": "object",
                "additionalProperties": _object({status.value: _number for status in Status}),
            },
            "due": _ref("Count"),
            "delayed": _ref("Count"),
            "expired_leases": _ref("Count"),
            "oldest_due_age_seconds": _object({p.label: _AGE for p in Priority}),
            "late_reports": _number | {"description": "Reports that came after their lease."},
        }
    ),
    "Identity": _object(
        {
            "name": _text,
            "role": {"type": "string", "enum": [role.value for role in Role]},
            "priority_max": _JOB["priority"],
            "types": {"type": ["array", "null"], "items": _text},
            "usable_types": {"type": "array", "items": _text},
            "may": {"type": "array", "items": _text},
        }
    ),
    "Health": _object(
        {"status": {"type": "string", "enum": ["ok", "unavailable"]}, "age_seconds": _number}
    ),
    "Problem": _object(
        {
            "type": _text,
            "title": _text,
            "status": {"type": "integer"},
            "detail": _text,
            "code": _text,
            "request_id": _text,
            "errors": {"type": "array", "maxItems": 21, "items": _object(_FIELD_ERROR)},
        }
    ),
    "OpenApi": {"type": "object"},
}
