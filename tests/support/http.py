"""An application over a real store, called in process, with one key per identity."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from queuelog_core.errors import Forbidden, Unauthorized
from queuelog_core.http.app import create_app
from queuelog_core.identity import Identity
from queuelog_core.job import Priority
from queuelog_core.job_types import JobTypes, Policy, load_job_types
from queuelog_core.queue import Queue
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, admin, producer, worker

ROOT = Path(__file__).parent.parent.parent
KEYS: dict[str, Identity] = {
    "producer": producer(),
    "other-producer": producer("blog"),
    "low-producer": producer("kiosk", priority_max=Priority.LOW),
    "email-producer": producer("press", types=frozenset({"email"})),
    "worker": worker(),
    "other-worker": worker("printer"),
    "pdf-worker": worker("painter", types=frozenset({"pdf"})),
    "admin": admin(),
}


def shipped_types() -> JobTypes:
    return load_job_types(ROOT / "infra" / "job_types.toml")


def plain_types(*names: str) -> JobTypes:
    """Types without any policy: 3 retries, a lease of 300 s, no backoff."""
    return JobTypes({name: Policy() for name in names or ("email", "pdf", "sync")})


def identify(environ: Mapping[str, Any]) -> Identity:
    """Names of KEYS are the keys."""
    key = environ.get("HTTP_X_API_KEY", "")
    if not key:
        raise Unauthorized("Send the header X-API-Key.")
    if key not in KEYS:
        raise Forbidden("The key is unknown, revoked or expired.")
    return KEYS[key]


def json_of(reply: TestResponse) -> Any:
    """The document of an answer, which must be JSON."""
    return reply.get_json()


def assert_problem(reply: TestResponse, status: int, code: str) -> Any:
    """The document of a refusal, which must have this status and code."""
    assert reply.status_code == status, reply.get_data(as_text=True)
    assert reply.mimetype == "application/problem+json"
    document = json_of(reply)
    assert document["code"] == code
    return document


def faults(reply: TestResponse) -> list[tuple[str, str]]:
    """Field and code of every error of a 422."""
    document = assert_problem(reply, 422, "validation-failed")
    return [(error["field"], error["code"]) for error in document["errors"]]


class _Failing:
    def __init__(self, store: Store, error: Exception, methods: tuple[str, ...]) -> None:
        self._store = store
        self._error = error
        self._methods = methods

    def __getattr__(self, name: str) -> Any:
        if name in self._methods:
            return self._fail
        return getattr(self._store, name)

    def _fail(self, *_: Any, **__: Any) -> None:
        raise self._error


def failing(store: Store, error: Exception, *methods: str) -> Store:
    """The same store, but these methods raise the error."""
    return cast(Store, _Failing(store, error, methods))


class Api:
    """The application as one caller after the other sees it."""

    def __init__(self, store: Store, clock: FakeClock, job_types: JobTypes | None = None) -> None:
        self.clock = clock
        self.store = store
        types = plain_types() if job_types is None else job_types
        self.queue = Queue(store, types, clock, random=lambda: 0.0)
        self.client: FlaskClient = create_app(self.queue, identify).test_client()

    def for_a_thread(self) -> "Api":
        """The same application through a client of its own: a client is not for two threads."""
        twin = copy.copy(self)
        twin.client = self.client.application.test_client()
        return twin

    def call(
        self,
        method: str,
        path: str,
        key: str | None = "admin",
        body: Any = None,
        *,
        raw: bytes | None = None,
        content_type: str | None = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> TestResponse:
        """Send one request; `body` is sent as JSON, `raw` as it stands."""
        sent = dict(headers or {})
        if key is not None:
            sent["X-API-Key"] = key
        if raw is None and body is not None:
            return self.client.open(path, method=method, headers=sent, json=body)
        if raw is None:
            return self.client.open(path, method=method, headers=sent)
        return self.client.open(
            path, method=method, headers=sent, data=raw, content_type=content_type
        )

    def enqueue(self, key: str = "producer", job_type: str = "email", **fields: Any) -> Any:
        """A new job, as its producer sees it."""
        reply = self.call("POST", "/jobs", key, {"type": job_type, **fields})
        assert reply.status_code == 201, reply.get_data(as_text=True)
        return reply.json

    def claim(self, key: str = "worker", **fields: Any) -> Any:
        """The job that a worker gets, or None."""
        reply = self.call("POST", "/jobs/claim", key, fields)
        assert reply.status_code in (200, 204), reply.get_data(as_text=True)
        return reply.json if reply.status_code == 200 else None

    def report(self, verb: str, job: Any, key: str = "worker", **fields: Any) -> TestResponse:
        """A report on the attempt that `job` names, unless `attempt` is given."""
        body = {"attempt": job["attempt"], **fields}
        return self.call("POST", f"/jobs/{job['id']}/{verb}", key, body)

    def get(self, job: Any, key: str = "admin") -> Any:
        reply = self.call("GET", f"/jobs/{job['id']}", key)
        assert reply.status_code == 200
        return reply.json
