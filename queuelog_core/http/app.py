"""The Flask application: one order of checks, one form of error, one log line a request.

Route 404/405 · key 401/403 · role 403 · media type 415 · size 413 · JSON 400 · schema 422 · then
the endpoint: policy, visibility, replay, state, store.
"""

import logging
import re
import secrets
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Request, Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter, ValidationError

from queuelog_core.clock import monotonic_seconds
from queuelog_core.errors import (
    Forbidden,
    NotFound,
    PayloadTooLarge,
    QueuelogError,
    StoreBusy,
    UnsupportedMediaType,
)
from queuelog_core.http.answers import TOO_LARGE, Trace, http_problem, problem, respond, unexpected
from queuelog_core.http.bodies import REQUEST_BYTES_MAX
from queuelog_core.http.call import Call
from queuelog_core.http.routes import ROUTES, Route
from queuelog_core.http.rules import INTEGER_MAX
from queuelog_core.http.schema import parse_body, parse_query
from queuelog_core.http.strict_json import DEPTH_MAX, parse_json
from queuelog_core.identity import Identity
from queuelog_core.probe import Probe
from queuelog_core.queue import Queue

Identify = Callable[[dict[str, Any]], Identity]
"""From the WSGI environ to an identity; raises Unauthorized, Forbidden or StoreUnavailable."""

WAITED_SECONDS = "queuelog.waited_seconds"
"""Where in the WSGI environ a server tells how long a request waited for a thread."""
WAIT_SECONDS_MAX = 4.0
"""Less than the store waits for its file, so that one round of threads waits and no second one."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_log = logging.getLogger(__name__)


def create_app(queue: Queue, identify: Identify, routes: Iterable[Route] = ROUTES) -> Flask:
    """An application that serves just these routes; any other path is 404."""
    app = Flask("queuelog", static_folder=None)
    # A body without a declared length is cut there in silence, so the last byte tells.
    app.config["MAX_CONTENT_LENGTH"] = REQUEST_BYTES_MAX + 1
    # Merging answers with a redirect in HTML, which is no part of the contract.
    app.url_map.merge_slashes = False
    app.url_map.converters["job_id"] = _JobId
    probe = Probe(queue.store.check_writable)
    for route in routes:
        app.add_url_rule(
            route.path.replace("{id}", "<job_id:job_id>"),
            endpoint=route.name,
            view_func=_view(route, queue, probe, identify),
            methods=[route.method],
            provide_automatic_options=False,
        )
    app.before_request(_begin)
    app.after_request(_end)
    app.register_error_handler(QueuelogError, problem)
    app.register_error_handler(HTTPException, http_problem)
    app.register_error_handler(Exception, unexpected)
    return app


class _JobId(BaseConverter):
    """A well-formed id; anything else is a path that does not exist."""

    regex = "[1-9][0-9]{0,15}"

    def to_python(self, value: str) -> int:
        if int(value) > INTEGER_MAX:
            raise ValidationError
        return int(value)


def _view(route: Route, queue: Queue, probe: Probe, identify: Identify) -> Callable[..., Response]:
    def view(job_id: int = 0) -> Response:
        trace: Trace = g.trace
        environ = request.environ
        caller = None
        if route.roles:
            _refuse_after_a_long_wait(environ)
            caller = identify(environ)
            trace.key_id = caller.key_id
            if caller.role not in route.roles:
                raise Forbidden(f"A {caller.role.value} key may not do that.")
        trace.job_id = job_id or None
        reply = route.endpoint(
            Call(
                queue=queue,
                probe=probe,
                caller=caller,
                parsed=_parse(route, request),
                job_id=job_id,
                key_header=environ.get("HTTP_IDEMPOTENCY_KEY"),
                request_id=trace.request_id,
            )
        )
        trace.job_id = reply.job_id or trace.job_id
        trace.jobs = reply.jobs
        return respond(reply)

    return view


def _refuse_after_a_long_wait(environ: dict[str, Any]) -> None:
    """Who waited so long for a thread is told at once, instead of waiting for the store too."""
    waited: float = environ.get(WAITED_SECONDS, 0.0)
    if waited > WAIT_SECONDS_MAX:
        raise StoreBusy(f"the request waited {waited:.1f} s for a thread")


def _parse(route: Route, asked: Request) -> Any:
    if route.query is not None:
        return parse_query(route.query, asked.args.to_dict(flat=False))
    if route.body is None:
        return None
    body = _read(asked)
    value = parse_json(body, DEPTH_MAX + route.levels_around) if body else {}
    return parse_body(route.body, value)


def _read(asked: Request) -> bytes:
    """The bytes of a body; an empty one needs no media type."""
    if "HTTP_CONTENT_ENCODING" in asked.environ:
        raise UnsupportedMediaType("A body with a Content-Encoding is not read.")
    if asked.environ.get("CONTENT_TYPE") != "application/json" and not _is_empty(asked):
        charset = asked.mimetype_params.get("charset", "utf-8").lower()
        if asked.mimetype != "application/json" or charset != "utf-8":
            raise UnsupportedMediaType("Send Content-Type: application/json, in UTF-8.")
    body = asked.get_data(cache=False)
    if len(body) > REQUEST_BYTES_MAX:
        raise PayloadTooLarge(TOO_LARGE)
    return body


def _is_empty(asked: Request) -> bool:
    length = asked.content_length
    return length == 0 or (length is None and "HTTP_TRANSFER_ENCODING" not in asked.environ)


def _begin() -> None:
    environ = request.environ
    g.trace = Trace(request_id_from(environ.get("HTTP_X_REQUEST_ID", "")), monotonic_seconds())
    # No path of ours needs escapes, and a decoded %2F would reach a route nobody asked for;
    # Werkzeug would overlook a second slash at the start.
    escaped = "%" in environ.get("REQUEST_URI", "").partition("?")[0]
    if escaped or "//" in environ["PATH_INFO"]:
        raise NotFound()


def request_id_from(given: str) -> str:
    """The caller's id when it is well formed and no secret, for it is logged; else a new one."""
    if not _REQUEST_ID.fullmatch(given):
        return secrets.token_hex(8)
    # A cold start does not pay for what few requests need.
    from queuelog_core.redact import scrub

    return given if scrub(given) == given else secrets.token_hex(8)


def _end(response: Response) -> Response:
    trace: Trace = g.trace
    headers = response.headers
    headers.add("X-Request-Id", trace.request_id)
    # A proxy that keeps an answer would show one caller's jobs to another.
    headers.add("Cache-Control", "no-store")
    headers.add("X-Content-Type-Options", "nosniff")
    route = request.endpoint
    fields = {
        "request_id": trace.request_id,
        "method": request.method if route else "-",
        "route": route or "-",
        "status": response.status_code,
        "ms": round((monotonic_seconds() - trace.started) * 1000, 1),
        "key_id": trace.key_id,
        "job_id": trace.job_id,
    }
    if trace.jobs is not None:
        fields["jobs"] = trace.jobs
    _log.info("request", extra={"fields": fields})
    return response
