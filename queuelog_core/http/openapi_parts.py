"""Parts of the OpenAPI document that no rule of a request can tell: answers and headers."""

from typing import Any

from queuelog_core.http.openapi_examples import (
    CLAIMED,
    COMPLETED,
    IDENTITY,
    RETRIED,
    SAMPLE,
    STATS,
)
from queuelog_core.http.rules import INTEGER_MAX
from queuelog_core.identity import Role
from queuelog_core.job import Priority, Status

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


def _header(description: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"description": description, "schema": schema or _text}


HEADERS: dict[str, Any] = {
    "X-Request-Id": _header("The caller's when well formed, else a new one; it is in the log."),
    "Retry-After": _header("Seconds to wait.", {"type": "integer", "minimum": 1, "maximum": 20}),
    "Location": _header("Where the job can be read."),
    "Idempotent-Replayed": _header("true: the request or report was known, nothing changed."),
    "Idempotency-Payload-Mismatch": _header("true: the key names a job of another request."),
}

PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "all": [
        {
            "name": "X-Request-Id",
            "in": "header",
            "required": False,
            "schema": {"type": "string"},
            "description": "Taken over when it matches [A-Za-z0-9._-]{1,64}.",
        }
    ],
    "enqueue": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "As in the body, but a different request with this key is refused.",
        }
    ],
}

_Reply = tuple[str, str | None, Any, list[str]]
_REPLAYED = "Idempotent-Replayed"
REPLIES: dict[str, dict[int, _Reply]] = {
    "enqueue": {
        201: ("The job was stored", "Job", SAMPLE, ["Location"]),
        200: (
            "The key is known: the job of that time, as it is now",
            "Job",
            SAMPLE,
            ["Location", _REPLAYED, "Idempotency-Payload-Mismatch"],
        ),
    },
    "list_jobs": {
        200: (
            "One page; only next_cursor null ends the list",
            "JobList",
            {"jobs": [SAMPLE], "next_cursor": None},
            [],
        ),
    },
    "claim": {
        200: ("The job, now the caller's", "Job", CLAIMED, []),
        204: ("Nothing is due", None, None, ["Retry-After"]),
    },
    "get": {200: ("The job", "Job", SAMPLE, [])},
    "complete": {200: ("The job is completed", "Job", COMPLETED, [_REPLAYED])},
    "fail": {200: ("The job is pending again, or ended", "Job", RETRIED, [_REPLAYED])},
    "stats": {200: ("The numbers", "Stats", STATS, [])},
    "whoami": {200: ("The identity", "Identity", IDENTITY, [])},
    "health": {
        200: ("The store takes writes", "Health", {"status": "ok", "age_seconds": 3}, []),
        503: (
            "It does not",
            "Health",
            {"status": "unavailable", "age_seconds": 3},
            ["Retry-After"],
        ),
    },
    "openapi": {200: ("This document", "OpenApi", {"openapi": "3.1.0"}, [])},
}

PROBLEMS: dict[int, tuple[str, list[str]]] = {
    400: ("The body is not valid JSON", ["invalid-json"]),
    401: ("The key is missing", ["unauthorized"]),
    403: ("The key does not fit", ["forbidden", "priority-not-allowed"]),
    404: ("There is no such job, or it is not the caller's to see", ["not-found"]),
    409: (
        "The job is not in a state that allows this",
        ["conflict", "not-owner", "lease-lost", "already-reported"],
    ),
    413: ("The request is larger than 1 MiB", ["payload-too-large"]),
    415: ("The body is not declared as JSON in UTF-8", ["unsupported-media-type"]),
    422: ("The request is not valid", ["validation-failed", "idempotency-key-reused"]),
    500: ("The server failed", ["internal-error"]),
    503: ("The store cannot be used right now", ["store-busy", "store-unavailable"]),
}
