"""A call over HTTP, and whether its answer is the one that the contract tells."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from queuelog_core.upkeep import run_upkeep
from tests.model.calls import Answer, Request
from tests.support.http import Api

HEADERS = ("Location", "Idempotent-Replayed", "Idempotency-Payload-Mismatch", "Retry-After")
PAGES_MAX = 1000
_ROUTES = {
    "enqueue": ("POST", "/jobs"),
    "batch": ("POST", "/jobs/batch"),
    "claim": ("POST", "/jobs/claim"),
    "redrive_many": ("POST", "/jobs/redrive"),
    "get": ("GET", "/jobs/{id}"),
    "attempts": ("GET", "/jobs/{id}/attempts"),
    "stats": ("GET", "/stats"),
    "health": ("GET", "/health"),
}


class Reply(NamedTuple):
    """What the product answered. `code` is that of a problem."""

    status: int
    body: Any
    headers: Mapping[str, str]
    code: str | None = None

    @property
    def new_ids(self) -> list[int]:
        """The ids of the jobs that it made."""
        if isinstance(self.body, dict) and "results" in self.body:
            return [item["id"] for item in self.body["results"] if item["status"] == 201]
        return [self.body["id"]] if self.status == 201 else []

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """The jobs in it."""
        document = self.body if isinstance(self.body, dict) and self.code is None else {}
        alone = [document] if "producer_id" in document else []
        found: list[dict[str, Any]] = document.get("jobs", alone)
        return found

    @property
    def replayed(self) -> bool:
        return "Idempotent-Replayed" in self.headers


def send(api: Api, request: Request) -> Reply:
    """Make the call; a list is read to its end."""
    if request.verb == "upkeep":
        done = run_upkeep(api.queue, request.body["retention_seconds"])
        return Reply(503 if done is None else 200, done and done._asdict(), {})
    if request.verb == "list":
        return _read_list(api, request)
    method, path = _ROUTES.get(request.verb, ("POST", f"/jobs/{{id}}/{request.verb}"))
    path = path.replace("{id}", str(request.job_id))
    environ = _environ(method, path, request.key)
    if method == "POST":
        body = json.dumps(dict(request.body)).encode()
        environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
        environ["wsgi.input"] = io.BytesIO(body)
    if request.header is not None:
        # A header is bytes in Latin-1's clothes.
        environ["HTTP_IDEMPOTENCY_KEY"] = request.header.encode().decode("latin-1")
    return _call(api, environ)


def _environ(method: str, path: str, key: str, query: str = "") -> dict[str, Any]:
    """What a server makes of a request. Werkzeug's own builder takes as long as the product."""
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1",
        "HTTP_X_API_KEY": key,
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }


def _call(api: Api, environ: dict[str, Any]) -> Reply:
    started: dict[str, Any] = {}

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Callable[[bytes], object]:
        started.update(status=int(status.split(maxsplit=1)[0]), headers=dict(headers))
        return lambda _: None

    data = b"".join(api.client.application.wsgi_app(environ, start))
    status, headers = started["status"], started["headers"]
    body: Any = json.loads(data) if data else None
    shown = {name: headers[name] for name in HEADERS if name in headers}
    if headers.get("Content-Type") != "application/problem+json":
        return Reply(status, body, shown)
    code = body["code"]
    assert (body["status"], body["type"]) == (status, f"urn:queuelog:problem:{code}")
    assert bool(body["errors"]) == (code == "validation-failed")
    return Reply(status, body, shown, code)


def _read_list(api: Api, request: Request) -> Reply:
    query, jobs = dict(request.body), []
    for _ in range(PAGES_MAX):
        reply = _call(api, _environ("GET", "/jobs", request.key, urlencode(query)))
        if reply.status != 200:
            return reply
        assert len(reply.body["jobs"]) <= query.get("limit", 50)
        jobs += reply.body["jobs"]
        query["cursor"] = reply.body["next_cursor"]
        if query["cursor"] is None:
            return reply._replace(body={"jobs": jobs})
    raise AssertionError("the list has no end")


def assert_as_told(verb: str, reply: Reply, told: Answer, *, exact: bool = True) -> None:
    """Status, problem code, headers and the whole body. `exact`: what the numbers claim to be."""
    headers = dict(reply.headers)
    if reply.status == 204:
        # How soon to ask again is the server's choice, within these bounds.
        assert 1 <= int(headers.pop("Retry-After")) <= 20
    assert (reply.status, reply.code) == (told.status, told.code)
    assert headers == dict(told.headers)
    if told.code is None:
        assert _comparable(verb, reply.body, exact) == told.body


def _comparable(verb: str, body: Any, exact: bool) -> Any:
    match verb:
        case "batch":
            # Of a refusal its code is told; a problem's words are the server's choice.
            return {
                "results": [
                    {**item, "error": item["error"]["code"]} if "error" in item else item
                    for item in body["results"]
                ]
            }
        case "stats":
            assert body["exact"] is exact
            return {name: value for name, value in body.items() if name != "exact"}
        case "health":
            assert body["age_seconds"] >= 0
            return {"status": body["status"]}
    return body
