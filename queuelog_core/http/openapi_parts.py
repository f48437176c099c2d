"""Parts of the OpenAPI document that no rule of a request can tell: answers and headers."""

from typing import Any

from queuelog_core.http.openapi_examples import (
    ATTEMPTS,
    BATCH,
    CANCEL_ASKED,
    CANCELLED,
    CLAIMED,
    COMPLETED,
    IDENTITY,
    LEASE,
    REDRIVEN,
    RETRIED,
    SAMPLE,
    STATS,
)

_text = {"type": "string"}


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
    "claim": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "A repeat with the same key and body gets the same jobs.",
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
    "batch": {200: ("What became of each item", "BatchResults", BATCH, [])},
    "claim": {
        200: (
            "The job, now the caller's; with limit an object of jobs",
            "Job or ClaimedJobs",
            CLAIMED,
            [_REPLAYED],
        ),
        204: ("Nothing is due", None, None, ["Retry-After"]),
    },
    "get": {200: ("The job", "Job", SAMPLE, [])},
    "complete": {200: ("The job is completed", "Job", COMPLETED, [_REPLAYED])},
    "fail": {200: ("The job is pending again, or ended", "Job", RETRIED, [_REPLAYED])},
    "heartbeat": {200: ("The lease as it is now", "Lease", LEASE, [])},
    "release": {200: ("The job is pending again, or ended", "Job", SAMPLE, [_REPLAYED])},
    "attempts": {200: ("The attempts", "Attempts", ATTEMPTS, [])},
    "cancel": {
        200: ("The job is cancelled", "Job", CANCELLED, [_REPLAYED]),
        202: ("It runs; its worker is asked to stop", "Job", CANCEL_ASKED, [_REPLAYED]),
    },
    "redrive": {200: ("The job is pending again", "Job", REDRIVEN, [_REPLAYED])},
    "redrive_many": {
        200: (
            "What was found and changed",
            "Redriven",
            {"matched": 200, "redriven": 200, "more": True},
            [],
        )
    },
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
        ["conflict", "not-owner", "lease-lost", "already-reported", "deadline-exceeded"],
    ),
    413: ("The request is larger than 1 MiB", ["payload-too-large"]),
    415: ("The body is not declared as JSON in UTF-8", ["unsupported-media-type"]),
    422: ("The request is not valid", ["validation-failed", "idempotency-key-reused"]),
    500: ("The server failed", ["internal-error"]),
    503: ("The store cannot be used right now", ["store-busy", "store-unavailable"]),
}
