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
from werkzeug.exceptions import MethodNotAllowed as NoSuchMethod
from werkzeug.routing import BaseConverter, ValidationError

from queuelog_core.clock import monotonic_seconds
from queuelog_core.documents import compact
from queuelog_core.errors import (
    Forbidden,
    InvalidJson,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    QueuelogError,
    StoreUnavailable,
    UnsupportedMediaType,
)
from queuelog_core.http.endpoints import Call, Reply
from queuelog_core.http.routes import ROUTES, Route
from queuelog_core.http.rules import INTEGER_MAX
from queuelog_core.http.schema import parse_body, parse_query
from queuelog_core.http.strict_json import parse_json
from queuelog_core.identity import Identity
from queuelog_core.probe import Probe
from queuelog_core.queue import Queue
from queuelog_core.redact import scrub

REQUEST_BYTES_MAX = 1024 * 1024
PROBLEM = "application/problem+json"
Identify = Callable[[dict[str, Any]], Identity]
"""From the WSGI environ to an identity; raises Unauthorized, Forbidden or StoreUnavailable."""

_TOO_LARGE = f"At most {REQUEST_BYTES_MAX} bytes a request."
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
    app.register_error_handler(QueuelogError, _problem)
    app.register_error_handler(HTTPException, _http_problem)
    app.register_error_handler(Exception, _unexpected)
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
        caller = None
        if route.roles:
            caller = identify(request.environ)
            g.key_id = caller.key_id
            if caller.role not in route.roles:
                raise Forbidden(f"A {caller.role.value} key may not do that.")
        g.job_id = job_id or None
        reply = route.endpoint(
            Call(
                queue=queue,
                probe=probe,
                caller=caller,
                parsed=_parse(route, request),
                job_id=job_id,
                key_header=request.environ.get("HTTP_IDEMPOTENCY_KEY"),
            )
        )
        return _respond(reply)

    return view


def _parse(route: Route, asked: Request) -> Any:
    if route.query is not None:
        return parse_query(route.query, asked.args.to_dict(flat=False))
    if route.body is None:
        return None
    body = _read(asked)
    return parse_body(route.body, parse_json(body) if body else {})


def _read(asked: Request) -> bytes:
    """The bytes of a body; an empty one needs no media type."""
    is_empty = asked.content_length == 0 or (
        asked.content_length is None and "HTTP_TRANSFER_ENCODING" not in asked.environ
    )
    if "HTTP_CONTENT_ENCODING" in asked.environ:
        raise UnsupportedMediaType("A body with a Content-Encoding is not read.")
    if not is_empty:
        charset = asked.mimetype_params.get("charset", "utf-8").lower()
        if asked.mimetype != "application/json" or charset != "utf-8":
            raise UnsupportedMediaType("Send Content-Type: application/json, in UTF-8.")
    body = asked.get_data(cache=False)
    if len(body) > REQUEST_BYTES_MAX:
        raise PayloadTooLarge(_TOO_LARGE)
    return body


def _respond(reply: Reply) -> Response:
    g.job_id = reply.job_id or g.job_id
    text = "" if reply.document is None else compact(reply.document)
    response = Response(text, reply.status, dict(reply.headers), content_type="application/json")
    if reply.document is None:
        del response.headers["Content-Type"]
    return response


def _begin() -> None:
    g.started = monotonic_seconds()
    g.request_id = request_id_from(request.headers.get("X-Request-Id", ""))
    # No path of ours needs escapes, and a decoded %2F would reach a route nobody asked for;
    # Werkzeug would overlook a second slash at the start.
    escaped = "%" in request.environ.get("REQUEST_URI", "").partition("?")[0]
    if escaped or "//" in request.environ["PATH_INFO"]:
        raise NotFound()


def request_id_from(given: str) -> str:
    """The caller's id when it is well formed and no secret, for it is logged; else a new one."""
    usable = _REQUEST_ID.fullmatch(given) and scrub(given) == given
    return given if usable else secrets.token_hex(8)


def _end(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    # A proxy that keeps an answer would show one caller's jobs to another.
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    fields = {
        "request_id": g.request_id,
        "method": request.method if request.endpoint else "-",
        "route": request.endpoint or "-",
        "status": response.status_code,
        "ms": round((monotonic_seconds() - g.started) * 1000, 1),
        "key_id": g.get("key_id", "-"),
        "job_id": g.get("job_id"),
    }
    _log.info("request", extra={"fields": fields})
    return response


def _problem(error: QueuelogError) -> Response:
    if isinstance(error, StoreUnavailable):
        fields = {"request_id": g.request_id, "code": error.code, "cause": error.reason}
        _log.error("store-error", extra={"fields": fields})
    document = problem_document(error, g.request_id)
    return Response(compact(document), error.status, error.headers, content_type=PROBLEM)


def problem_document(error: QueuelogError, request_id: str) -> dict[str, Any]:
    """The one form of error in RFC 9457's terms."""
    return {
        "type": f"urn:queuelog:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "request_id": request_id,
        "errors": [
            {"field": fault.field, "code": fault.code, "message": fault.message}
            for fault in error.errors
        ],
    }


def _http_problem(error: HTTPException) -> Response:
    """What Flask and Werkzeug refuse by themselves, in our words and form."""
    if isinstance(error, NoSuchMethod):
        allow = {"Allow": ", ".join(sorted(error.valid_methods or ()))}
        return _problem(MethodNotAllowed("See the header Allow.", headers=allow))
    match error.code:
        case 404:
            return _problem(NotFound())
        case 413:
            return _problem(PayloadTooLarge(_TOO_LARGE))
        case 400:
            return _problem(InvalidJson("The body could not be read."))
        case _:
            return _unexpected(error)


def _unexpected(error: Exception) -> Response:
    """The last resort: where it happened goes to the log, without values; nothing to the caller."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    fields = {"request_id": g.request_id, "cause": type(error).__name__, "frames": frames[-8:]}
    _log.error("unexpected-error", extra={"fields": fields})
    return _problem(QueuelogError("The server failed; the request id leads to its log."))
