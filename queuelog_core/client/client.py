"""The client for producers, operators and workers. Thread-safe; every call is safe to repeat."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlencode

from queuelog_core.client.bodies import (
    chunks,
    encode,
    holding,
    key_header,
    new_job,
    parsed,
    read,
    request_id,
    shown,
)
from queuelog_core.client.errors import BODY_REFUSED, IdempotencyKeyReused, error_for
from queuelog_core.client.results import (
    Attempts,
    BatchResult,
    Claimed,
    Job,
    Lease,
    Page,
    Redriven,
    batch_results,
)
from queuelog_core.client.retries import Patience, retry_after_seconds, send
from queuelog_core.client.transport import HttpTransport, Request, Response, Transport
from queuelog_core.client.waiting import wait_until_finished
from queuelog_core.config import load_client_config

_MISMATCH = "idempotency-payload-mismatch"


class Client:
    """Calls one queuelog server with one API key.

    Without `url` and `key` they come from QUEUELOG_URL and QUEUELOG_API_KEY. A call goes on trying
    for `budget_seconds`. Every method raises ClientError; a wrong setting raises ConfigError.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout_seconds: float = 30.0,
        budget_seconds: float = 60.0,
        transport: Transport | None = None,
        patience: Patience | None = None,
    ) -> None:
        settings = load_client_config(url, key)
        self._headers = {"X-API-Key": settings.key, "Content-Type": "application/json"}
        self._transport = transport or HttpTransport(settings.url, timeout_seconds)
        self._patience = patience or Patience(budget_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def with_budget(self, budget_seconds: float) -> Self:
        """The same client, over the same connections, that goes on trying for so long; 0: once."""
        twin = copy.copy(self)
        twin._patience = self._patience._replace(budget_seconds=budget_seconds)
        return twin

    def close(self) -> None:
        """Close the connections."""
        close: Callable[[], None] = getattr(self._transport, "close", lambda: None)
        close()

    def enqueue(
        self,
        job_type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        priority: str | None = None,
        max_retries: int | None = None,
        idempotency_key: str | None = None,
        run_at: datetime | None = None,
        delay_seconds: int | None = None,
    ) -> Job:
        """Enqueue a job, once; without a key of yours the call makes one for its own repeats.

        Raises IdempotencyKeyReused when the key names a job of another request.
        """
        body = new_job(
            job_type,
            payload,
            priority=priority,
            max_retries=max_retries,
            idempotency_key=idempotency_key,
            run_at=run_at,
            delay_seconds=delay_seconds,
        )
        response = self._send("POST", "/jobs", body)
        if _MISMATCH in response.headers:
            raise IdempotencyKeyReused(422, {"detail": "The key names a job of another request."})
        return read(response, Job.from_json)

    def enqueue_many(self, jobs: Iterable[Mapping[str, Any]]) -> Iterator[BatchResult]:
        """Enqueue many jobs as `new_job` makes them, in chunks; a bad one stops no other.

        Lazy: a chunk is sent when its first result is asked for. `index` counts over all of them.
        Raises ValueError or TypeError for what JSON cannot hold."""
        first = 0
        for chunk in chunks(jobs):
            yield from self._enqueue_chunk(chunk, first)
            first += len(chunk)

    def _enqueue_chunk(self, chunk: Sequence[Mapping[str, Any]], first: int) -> list[BatchResult]:
        try:
            response = self._send("POST", "/jobs/batch", {"jobs": chunk})
        except BODY_REFUSED as error:
            if len(chunk) == 1:
                return [BatchResult(first, error.status, error=error.problem)]
            alone = [self._enqueue_chunk([job], n) for n, job in enumerate(chunk, first)]
            return [result for results in alone for result in results]
        return read(response, lambda found: batch_results(found, first, len(chunk)))

    def get(self, job_id: int) -> Job:
        """A job. Raises NotFound, also for one that is not the key's to see."""
        return read(self._send("GET", f"/jobs/{job_id}"), Job.from_json)

    def jobs(self, **filters: Any) -> Iterator[Job]:
        """All jobs that match, page by page: status, type, priority, producer_id, worker_id,
        created_after, created_before, order, limit (of a page)."""
        asked = {name: shown(value) for name, value in filters.items() if value is not None}
        while True:
            query = f"?{urlencode(asked)}" if asked else ""
            page = read(self._send("GET", f"/jobs{query}"), Page.from_json)
            yield from page.jobs
            if page.next_cursor is None:
                return
            asked["cursor"] = page.next_cursor

    def attempts(self, job_id: int) -> Attempts:
        """The newest attempts of a job."""
        return read(self._send("GET", f"/jobs/{job_id}/attempts"), Attempts.from_json)

    def wait(self, job_id: int, *, timeout_seconds: float = 300.0) -> Job:
        """The job once it is completed, failed or cancelled. Raises TimeoutError."""

        def look(budget_seconds: float) -> Job:
            return self.with_budget(budget_seconds).get(job_id)

        return wait_until_finished(look, timeout_seconds, self._patience)

    def cancel(self, job_id: int) -> Job:
        """End a pending job; ask a running one to stop (then `cancel_requested_at` is set)."""
        return read(self._send("POST", f"/jobs/{job_id}/cancel", {}), Job.from_json)

    def redrive(self, job_id: int) -> Job:
        """Send a failed or cancelled job on its way again."""
        return read(self._send("POST", f"/jobs/{job_id}/redrive", {}), Job.from_json)

    def redrive_many(
        self,
        *,
        status: str | None = None,
        job_type: str | None = None,
        error_code: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        limit: int = 200,
        dry_run: bool = False,
    ) -> Redriven:
        """One step of a redrive; repeat while `more`. A filter names a status; none: all dead."""
        where = {"status": status, "type": job_type, "error_code": error_code}
        where |= {"created_after": shown(created_after), "created_before": shown(created_before)}
        sent = {name: value for name, value in where.items() if value is not None}
        body = {"filter": sent, "limit": limit, "dry_run": dry_run, "all": not sent}
        return read(self._send("POST", "/jobs/redrive", body), Redriven.from_json)

    def stats(self) -> Any:
        """The numbers of the queue, as the API answers them."""
        return read(self._send("GET", "/stats"), holding("as_of", "types"))

    def whoami(self) -> Any:
        """Who the key stands for and what it may do, as the API answers it."""
        return read(self._send("GET", "/whoami"), holding("name"))

    def claim(
        self,
        types: Sequence[str] | None = None,
        *,
        limit: int = 1,
        lease_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> Claimed:
        """Up to `limit` due jobs. A repeat after a lost answer gets the same jobs."""
        body = {"types": types, "limit": limit, "lease_seconds": lease_seconds}
        response = self._send("POST", "/jobs/claim", body, key_header(idempotency_key))
        return read(response, Claimed.from_json)

    def complete(self, job: Job, result: Any = None) -> Job:
        """Report the work as done."""
        return self._report(job, "complete", {"result": result})

    def fail(
        self,
        job: Job,
        error: str | None = None,
        error_code: str | None = None,
        *,
        retryable: bool = True,
        retry_in_seconds: int | None = None,
    ) -> Job:
        """Report a failure; `retry_in_seconds` replaces the backoff of the type."""
        body = {
            "error": error,
            "error_code": error_code,
            "retryable": retryable,
            "retry_in_seconds": retry_in_seconds,
        }
        return self._report(job, "fail", body)

    def release(self, job: Job, delay_seconds: int | None = None) -> Job:
        """Hand the job back, no retry spent."""
        return self._report(job, "release", {"delay_seconds": delay_seconds})

    def heartbeat(self, job: Job, extend_seconds: int | None = None) -> Lease:
        """Extend the lease. Raises Conflict when it is lost: then stop working on the job."""
        body = {"attempt": job.attempt, "extend_seconds": extend_seconds}
        return read(self._send("POST", f"/jobs/{job.id}/heartbeat", body), Lease.from_json)

    def _report(self, job: Job, verb: str, body: Mapping[str, Any]) -> Job:
        sent = {"attempt": job.attempt, **body}
        return read(self._send("POST", f"/jobs/{job.id}/{verb}", sent), Job.from_json)

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        data = b"" if body is None else encode(body)
        request = Request(method, path, {**self._headers, **(headers or {})}, data)
        response = send(self._transport, request, self._patience)
        if 200 <= response.status < 300:
            return response
        wait = retry_after_seconds(response.headers)
        raise error_for(response.status, parsed(response), wait, request_id(response))
