"""What a call can end in. One class a problem code, so that `except LeaseLost` is all it takes.

ClientError
├── Unreachable         nobody answered within the time budget; the same call may be sent again
│   └── ServerError     429 and 5xx until the budget was spent ── RateLimited, StoreBusy, …
└── Refused             4xx: sending the same again changes nothing
    ├── InvalidJson 400 · Unauthorized 401 · Forbidden 403 ── PriorityNotAllowed
    ├── NotFound 404 · MethodNotAllowed 405 · PayloadTooLarge 413 · UnsupportedMediaType 415
    ├── Conflict 409 ── NotOwner, LeaseLost, AlreadyReported, DeadlineExceeded
    └── ValidationFailed 422 ── IdempotencyKeyReused
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


class Portable(Exception):
    """An exception that is the same in another process, and in a copy."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Python calls the class with the words alone, which need not be what it was called with.
        return _without_init, (type(self), *self.args), self.__dict__


def _without_init(kind: type[Portable], *words: object) -> Portable:
    return kind.__new__(kind, *words)


class ClientError(Portable):
    """Base of what a call can end in."""


class Unreachable(ClientError):
    """No answer; whether the call was done nobody knows, and it may be sent again."""

    retry_after_seconds = 0.0


class _Answered(ClientError):
    """An answer that is no success, with what its problem document says."""

    code: ClassVar[str] = ""

    def __init__(self, status: int, problem: Mapping[str, Any] | None = None) -> None:
        told = problem or {}
        self.status = status
        self.problem = told
        self.detail = str(told.get("detail") or "")
        named = told.get("request_id")
        self.request_id: str | None = named if isinstance(named, str) else None
        listed = told.get("errors")
        faults = listed if isinstance(listed, list) else []
        self.errors: list[dict[str, str]] = [each for each in faults if isinstance(each, dict)]
        words = [f"{status} {told.get('code') or self.code or 'without a problem document'}"]
        words += [self.detail] if self.detail else []
        words += [f"{fault.get('field')}: {fault.get('message')}" for fault in self.errors]
        super().__init__("; ".join(words))


class ServerError(_Answered, Unreachable):
    """The server could not do it now; nothing was reported as done."""


class RateLimited(ServerError):
    """Too many calls at once."""

    code = "rate-limited"


class StoreUnavailable(ServerError):
    code = "store-unavailable"


class StoreBusy(StoreUnavailable):
    code = "store-busy"


class Refused(_Answered):
    """The server said no; sending the same again changes nothing."""


class InvalidJson(Refused):
    code = "invalid-json"


class Unauthorized(Refused):
    code = "unauthorized"


class Forbidden(Refused):
    code = "forbidden"


class PriorityNotAllowed(Forbidden):
    code = "priority-not-allowed"


class NotFound(Refused):
    code = "not-found"


class MethodNotAllowed(Refused):
    code = "method-not-allowed"


class Conflict(Refused):
    code = "conflict"


class NotOwner(Conflict):
    code = "not-owner"


class LeaseLost(Conflict):
    code = "lease-lost"


class AlreadyReported(Conflict):
    code = "already-reported"


class DeadlineExceeded(Conflict):
    code = "deadline-exceeded"


class PayloadTooLarge(Refused):
    code = "payload-too-large"


class UnsupportedMediaType(Refused):
    code = "unsupported-media-type"


class ValidationFailed(Refused):
    code = "validation-failed"


class IdempotencyKeyReused(ValidationFailed):
    """The key names a job of another request; nothing changed."""

    code = "idempotency-key-reused"


BODY_REFUSED = (InvalidJson, PayloadTooLarge, ValidationFailed)
"""Refusals of what was sent, not of who sent it or where."""

_BY_STATUS: dict[int, type[_Answered]] = {
    400: InvalidJson,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    413: PayloadTooLarge,
    415: UnsupportedMediaType,
    422: ValidationFailed,
    429: RateLimited,
    503: StoreUnavailable,
}
"""For answers without a code of ours: a gateway refuses in its own words."""


def _below(base: type[_Answered]) -> Iterator[type[_Answered]]:
    for found in base.__subclasses__():
        yield found
        yield from _below(found)


_BY_CODE = {found.code: found for found in _below(_Answered) if found.code}


def error_for(
    status: int,
    problem: Mapping[str, Any] | None,
    retry_after_seconds: float = 0.0,
    request_id: str | None = None,
) -> ClientError:
    """The exception for an answer that is no success; `request_id` is that of its header."""
    code = (problem or {}).get("code")
    fallback = ServerError if status >= 500 or status == 429 else Refused
    found = _BY_CODE.get(code) if isinstance(code, str) else None
    error = (found or _BY_STATUS.get(status, fallback))(status, problem)
    error.request_id = error.request_id or request_id
    if isinstance(error, Unreachable):
        error.retry_after_seconds = retry_after_seconds
    return error
