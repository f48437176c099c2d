"""What each route reads: its body or its query, with the limits of the contract."""

from typing import Annotated, NamedTuple

from queuelog_core.documents import Document
from queuelog_core.errors import FieldError, ValidationFailed
from queuelog_core.http.rules import (
    INTEGER_MAX,
    Flag,
    Ignored,
    Instant,
    Integer,
    Json,
    Label,
    ListOf,
    Text,
)
from queuelog_core.http.schema import JudgedAlone, Nested
from queuelog_core.identity import NAME
from queuelog_core.job import PRIORITIES, SERVER_ERROR_CODES, Priority, Status
from queuelog_core.job_types import RETRIES_MAX, RUNTIME_SECONDS_MAX
from queuelog_core.new_job import DELAY_SECONDS_MAX

DOCUMENT_BYTES_MAX = 65_536
REQUEST_BYTES_MAX = 1024 * 1024
KEY_CHARS_MAX = 255
PAGE_JOBS_MAX = 200
TYPES_MAX = 1000
BATCH_JOBS_MAX = 100
CLAIM_JOBS_MAX = 25
REDRIVE_JOBS_MAX = 200

KEY = Text(KEY_CHARS_MAX, least=1, printable=True)
_NAME = Text(64, least=1, pattern=NAME.pattern)
_TYPE = Text(255, least=1)
_PRIORITY = Label(PRIORITIES, any_case=True)
_ATTEMPT = Integer(1, INTEGER_MAX)
_ERROR_CODE = Text(64, least=1, pattern="[a-z0-9_]{1,64}")
_DEAD = ("failed", "cancelled")


class EnqueueBody(NamedTuple):
    type: Annotated[str, _TYPE]
    payload: Annotated[Document | None, Json(DOCUMENT_BYTES_MAX, object_only=True)] = None
    priority: Annotated[Priority | None, _PRIORITY] = None
    max_retries: Annotated[int | None, Integer(0, RETRIES_MAX)] = None
    idempotency_key: Annotated[str | None, KEY] = None
    run_at: Annotated[int | None, Instant()] = None
    delay_seconds: Annotated[int | None, Integer(0, DELAY_SECONDS_MAX)] = None

    def conflicts(self) -> list[FieldError]:
        if self.run_at is None or self.delay_seconds is None:
            return []
        return [FieldError("delay_seconds", "conflict", "Give run_at or delay_seconds, not both.")]


class BatchBody(NamedTuple):
    """A bad item is a ValidationFailed in its place."""

    jobs: Annotated[
        list[EnqueueBody | ValidationFailed], ListOf(JudgedAlone(EnqueueBody), 1, BATCH_JOBS_MAX)
    ]


class ClaimBody(NamedTuple):
    types: Annotated[list[str] | None, ListOf(_TYPE, 1, TYPES_MAX)] = None
    lease_seconds: Annotated[int | None, Integer(1, RUNTIME_SECONDS_MAX)] = None
    limit: Annotated[int | None, Integer(1, CLAIM_JOBS_MAX)] = None
    worker_id: Annotated[None, Ignored()] = None


class CompleteBody(NamedTuple):
    attempt: Annotated[int | None, _ATTEMPT] = None
    result: Annotated[Document | None, Json(DOCUMENT_BYTES_MAX)] = None


class FailBody(NamedTuple):
    attempt: Annotated[int | None, _ATTEMPT] = None
    error: Annotated[str | None, Text()] = None
    error_code: Annotated[str | None, _ERROR_CODE._replace(reserved=SERVER_ERROR_CODES)] = None
    retryable: Annotated[bool, Flag()] = True
    retry_in_seconds: Annotated[int | None, Integer(0, 86_400)] = None

    def conflicts(self) -> list[FieldError]:
        if self.retryable or self.retry_in_seconds is None:
            return []
        return [FieldError("retry_in_seconds", "conflict", "Not with retryable false.")]


class HeartbeatBody(NamedTuple):
    attempt: Annotated[int | None, _ATTEMPT] = None
    extend_seconds: Annotated[int | None, Integer(1, RUNTIME_SECONDS_MAX)] = None


class ReleaseBody(NamedTuple):
    attempt: Annotated[int | None, _ATTEMPT] = None
    delay_seconds: Annotated[int | None, Integer(0, 86_400)] = None


class EmptyBody(NamedTuple):
    """For a verb that the path says completely."""


class RedriveFilter(NamedTuple):
    status: Annotated[Status | None, Label({name: Status(name) for name in _DEAD})] = None
    type: Annotated[str | None, _TYPE] = None
    error_code: Annotated[str | None, _ERROR_CODE] = None
    created_after: Annotated[int | None, Instant()] = None
    created_before: Annotated[int | None, Instant()] = None

    def conflicts(self) -> list[FieldError]:
        if self.status is not None or self == RedriveFilter():
            return []
        return [
            FieldError("status", "missing", "This field is needed, unless the filter is empty.")
        ]


class RedriveManyBody(NamedTuple):
    filter: Annotated[RedriveFilter | None, Nested(RedriveFilter)] = None
    limit: Annotated[int, Integer(1, REDRIVE_JOBS_MAX)] = REDRIVE_JOBS_MAX
    dry_run: Annotated[bool, Flag()] = False
    all: Annotated[bool, Flag()] = False

    def conflicts(self) -> list[FieldError]:
        if self.all or self.filter not in (None, RedriveFilter()):
            return []
        return [FieldError("all", "missing", "An empty filter needs all: true.")]


class ListQuery(NamedTuple):
    status: Annotated[Status | None, Label({status.value: status for status in Status})] = None
    type: Annotated[str | None, _TYPE] = None
    priority: Annotated[Priority | None, _PRIORITY] = None
    producer_id: Annotated[str | None, _NAME] = None
    worker_id: Annotated[str | None, _NAME] = None
    created_after: Annotated[int | None, Instant()] = None
    created_before: Annotated[int | None, Instant()] = None
    order: Annotated[bool, Label({"desc": True, "asc": False})] = True
    limit: Annotated[int, Integer(1, PAGE_JOBS_MAX)] = 50
    cursor: Annotated[str | None, Text(512, least=1)] = None
