"""What is sent and what comes back, as JSON."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from queuelog_core.client.errors import ServerError
from queuelog_core.client.transport import Response

BATCH_JOBS_MAX = 100
BATCH_BYTES_MAX = 1_000_000
_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


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
        "idempotency_key": idempotency_key or uuid.uuid4().hex,
        "run_at": shown(run_at),
        "delay_seconds": delay_seconds,
    }
    return {name: value for name, value in asked.items() if value is not None}


def chunks(jobs: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """As many at once as a request may hold. Each has a key, so that a chunk may be sent twice."""
    chunk: list[Mapping[str, Any]] = []
    size = 0
    for job in jobs:
        keyed = {**job, "idempotency_key": job.get("idempotency_key") or uuid.uuid4().hex}
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
    key = key or uuid.uuid4().hex
    if not _KEY.fullmatch(key):
        raise ValueError("an idempotency key is of printable characters")
    # Headers are sent as Latin-1 and read as UTF-8.
    return {"Idempotency-Key": key.encode().decode("latin-1")}


def encode(body: Mapping[str, Any]) -> bytes:
    """Compact JSON in UTF-8. Raises ValueError or TypeError for what JSON cannot hold."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def document(response: Response) -> dict[str, Any]:
    """What an answer says. Raises ServerError when that is no JSON object."""
    found = parsed(response)
    if found is None:
        told = {"detail": "The answer is not a JSON object.", "request_id": request_id(response)}
        raise ServerError(response.status, told)
    return found


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
