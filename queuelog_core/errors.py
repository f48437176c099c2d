"""Everything that can go wrong, as one tree. The application translates it once into HTTP.

QueuelogError
├── InvalidJson 400 · Unauthorized 401 · NotFound 404 · MethodNotAllowed 405
├── Forbidden 403 ── PriorityNotAllowed
├── Conflict 409 ── NotOwner, LeaseLost ── LateReport, AlreadyReported, DeadlineExceeded
├── PayloadTooLarge 413 · UnsupportedMediaType 415
├── ValidationFailed 422 · IdempotencyKeyReused 422
└── StoreUnavailable 503 ── StoreBusy
ConfigError: a wrong setting or file; stops the start, never travels over HTTP
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple


class FieldError(NamedTuple):
    """One thing wrong with one field; `message` never repeats a value of the request."""

    field: str
    code: str
    message: str


class ConfigError(Exception):
    """A setting, key file or type registry that cannot be used; the text says what to mend."""


class NoKey(ConfigError):
    """There is no API key where one is needed."""


class QueuelogError(Exception):
    """Base of all errors that a caller is told about, with its HTTP status and stable code."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "Internal error"

    def __init__(
        self,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})


class InvalidJson(QueuelogError):
    status, code, title = 400, "invalid-json", "The body is not valid JSON"


class Unauthorized(QueuelogError):
    status, code, title = 401, "unauthorized", "An API key is needed"


class Forbidden(QueuelogError):
    status, code, title = 403, "forbidden", "This key may not do that"


class PriorityNotAllowed(Forbidden):
    code, title = "priority-not-allowed", "This key may not use that priority"


class NotFound(QueuelogError):
    """Always in the same words: what is hidden must look like what is not there."""

    status, code, title = 404, "not-found", "Not found"

    def __init__(self) -> None:
        super().__init__("There is nothing here.")


class MethodNotAllowed(QueuelogError):
    status, code, title = 405, "method-not-allowed", "Method not allowed"


class Conflict(QueuelogError):
    status, code, title = 409, "conflict", "The job is not in a state that allows this"


class NotOwner(Conflict):
    code, title = "not-owner", "The job is held by somebody else"


class LeaseLost(Conflict):
    code, title = "lease-lost", "This attempt no longer holds the job"


class LateReport(LeaseLost):
    """The caller held this attempt once; that it came too late is counted."""


class AlreadyReported(Conflict):
    code, title = "already-reported", "Another report of this attempt was recorded"


class DeadlineExceeded(Conflict):
    code, title = "deadline-exceeded", "The longest run time of this type is used up"


class PayloadTooLarge(QueuelogError):
    status, code, title = 413, "payload-too-large", "The request is too large"


class UnsupportedMediaType(QueuelogError):
    status, code, title = 415, "unsupported-media-type", "The body must be application/json"


class ValidationFailed(QueuelogError):
    status, code, title = 422, "validation-failed", "The request is not valid"


class IdempotencyKeyReused(QueuelogError):
    status, code, title = 422, "idempotency-key-reused", "The idempotency key names another request"


class StoreUnavailable(QueuelogError):
    """`reason` is for the operator (log, start of a command) and never travels over HTTP."""

    status, code, title = 503, "store-unavailable", "The store cannot be used right now"
    retry_after_seconds: ClassVar[int] = 5

    def __init__(self, reason: str) -> None:
        retry_after = {"Retry-After": str(self.retry_after_seconds)}
        super().__init__("Nothing was reported as done. Try again later.", headers=retry_after)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class StoreBusy(StoreUnavailable):
    code, title = "store-busy", "The store is busy"
    retry_after_seconds = 1


def no_such_state() -> Conflict:
    """The plain conflict, in the same words for a job that is not there and one that is hidden."""
    return Conflict("The job does not exist, or is not in a state that allows this.")


def invalid(field: str, code: str, message: str) -> ValidationFailed:
    """A refusal that names one field."""
    return ValidationFailed("See errors.", errors=[FieldError(field, code, message)])
