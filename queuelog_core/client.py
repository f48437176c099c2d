"""The HTTP client under the worker: three verbs over one pool of connections. Thread-safe."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import urllib3

Job = Mapping[str, Any]
"""A job as the API answers it."""
RETRY_AFTER_SECONDS_MAX = 20.0


class ClientError(Exception):
    """Base of what a call can end in."""


class Unreachable(ClientError):
    """No answer, or one that asks to come back (429, 5xx); the same call may be sent again."""

    def __init__(self, reason: str, retry_after_seconds: float = 1.0) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class Refused(ClientError):
    """The server said no; sending the same again changes nothing."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code


class Client:
    """Calls one queuelog server with one API key."""

    def __init__(self, url: str, key: str, timeout_seconds: float = 30.0) -> None:
        self._url = url.rstrip("/")
        self._headers = {"X-API-Key": key, "Content-Type": "application/json"}
        timeout = urllib3.Timeout(total=timeout_seconds)
        self._pool = urllib3.PoolManager(timeout=timeout, retries=False)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def claim(self, types: Sequence[str]) -> tuple[Job | None, float]:
        """A job, or None and the seconds after which to ask again. Raises ClientError."""
        reply = self._post("/jobs/claim", {"types": list(types)})
        if reply.status == 204:
            return None, _retry_after(reply)
        try:
            return json.loads(reply.data), 0.0
        except ValueError as error:
            raise Unreachable("an answer that is not JSON") from error

    def complete(self, job: Job, result: Any) -> None:
        """Report the work as done. Raises ClientError."""
        self._post(f"/jobs/{job['id']}/complete", {"attempt": job["attempt"], "result": result})

    def fail(self, job: Job, error: str, error_code: str) -> None:
        """Report a failure. Raises ClientError."""
        body = {"attempt": job["attempt"], "error": error, "error_code": error_code}
        self._post(f"/jobs/{job['id']}/fail", body)

    def _post(self, path: str, body: Mapping[str, Any]) -> urllib3.BaseHTTPResponse:
        data = json.dumps(body, ensure_ascii=False).encode()
        try:
            reply = self._pool.request(
                "POST", self._url + path, body=data, headers=self._headers, redirect=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(type(error).__name__) from error
        if reply.status == 429 or reply.status >= 500:
            raise Unreachable(str(reply.status), _retry_after(reply))
        if not 200 <= reply.status < 300:
            raise Refused(reply.status, _code(reply))
        return reply


def _retry_after(reply: urllib3.BaseHTTPResponse) -> float:
    """Seconds to wait, at least one; a date, which proxies may send, counts as one."""
    text = reply.headers.get("Retry-After", "1")
    seconds = float(text) if text.isdecimal() else 1.0
    return min(max(seconds, 1.0), RETRY_AFTER_SECONDS_MAX)


def _code(reply: urllib3.BaseHTTPResponse) -> str:
    try:
        return str(json.loads(reply.data)["code"])
    except (ValueError, KeyError, TypeError):
        return "unknown"
