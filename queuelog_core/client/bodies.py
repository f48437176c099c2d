"""What is sent and what comes back, as JSON."""

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from queuelog_core.client.errors import ServerError
from queuelog_core.client.transport import Response

BATCH_JOBS_MAX = 100
BATCH_BYTES_MAX = 1_000_000
_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_T = TypeVar("_T")


def new_job(
    job_type: str,
    payload: Mapping[str, Any] | None = None,
    *,
    priority: str | None = None,
    max_retries: int | None = None,
    idempotency_key: str | None = None,
    run_at: datetime | None = None,
    delay_seconds: int | None = None,
) -> dict[str, Any]:
    """A job as `enqueue_many` takes it, with a key of its own if you name none."""
    asked = {
        "type": job_type,
        "payload": payload,
        "priority": priority,
        "max_retries": max_retries,
        "idempotency_key": _own_or_new(idempotency_key),
        "run_at": shown(run_at),
        "delay_seconds": delay_seconds,
    }
    return {name: value for name, value in asked.items() if value is not None}


def chunks(jobs: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """As many at once as a request may hold. Each has a key, so that a chunk may be sent twice."""
    chunk: list[Mapping[str, Any]] = []
    size = 0
    for job in jobs:
        keyed = {**job, "idempotency_key": _own_or_new(job.get("idempotency_key"))}
        length = len(encode(keyed)) + 1
        if chunk and (len(chunk) == BATCH_JOBS_MAX or size + length > BATCH_BYTES_MAX):
            yield chunk
            chunk, size = [], 0
        chunk.append(keyed)
        size += length
    if chunk:
        yield chunk


def key_header(key: str | None) -> dict[str, str]:
    """A key as a header, a new one if there is none. Raises ValueError for what none can hold."""
    key = _own_or_new(key)
    if not _KEY.fullmatch(key):
        raise ValueError("an idempotency key is of printable characters")
    # Headers are sent as Latin-1 and read as UTF-8.
    return {"Idempotency-Key": key.encode().decode("latin-1")}


def _own_or_new(key: str | None) -> str:
    # An empty one is a mistake that the server tells, and not the wish for a new one.
    return uuid.uuid4().hex if key is None else key


def encode(body: Mapping[str, Any]) -> bytes:
    """Compact JSON in UTF-8. Raises ValueError or TypeError for what JSON cannot hold."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def read(response: Response, meaning: Callable[[dict[str, Any]], _T]) -> _T:
    """What an answer means. Raises ServerError for one that another server must have given."""
    told = {"detail": "The answer is not a JSON object.", "request_id": request_id(response)}
    found = parsed(response)
    if found is None:
        raise ServerError(response.status, told)
    try:
        return meaning(found)
    except (KeyError, TypeError, ValueError) as error:
        told["detail"] = "The answer is not one of queuelog's."
        raise ServerError(response.status, told) from error


def holding(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The meaning of an answer that is handed on as it is, if it has these fields."""

    def checked(found: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            found[name]
        return found

    return checked


def request_id(response: Response) -> str | None:
    """What leads to the log of whoever answered."""
    return response.headers.get("x-request-id")


def parsed(response: Response) -> dict[str, Any] | None:
    """The JSON object in an answer, None when there is none."""
    try:
        found = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def shown(value: Any) -> Any:
    """A time as the API takes it, anything else as it is. Raises ValueError without a zone."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError("a time needs a time zone: datetime.now(UTC), for instance")
    return value.isoformat()
