"""The only place that knows how Lambda is called: one handler per group of routes.

serverless-wsgi turns an event into a WSGI request; what it stumbles over is put right before
(nulls, other types, broken base64, escapes, underscores) and after (cookies, exceptions). The
identity is what the authorizer proved, read from its context and from nowhere else.
"""

import base64
import binascii
import contextlib
import functools
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import serverless_wsgi
from flask import Flask

from queuelog_core.bootstrap import open_queue
from queuelog_core.config import load_config
from queuelog_core.documents import compact
from queuelog_core.errors import (
    ConfigError,
    InvalidJson,
    QueuelogError,
    StoreUnavailable,
    Unauthorized,
)
from queuelog_core.http.answers import PROBLEM
from queuelog_core.http.app import create_app, request_id_from
from queuelog_core.http.present import present_problem
from queuelog_core.http.routes import routes_of
from queuelog_core.identity import Identity
from queuelog_core.logs import set_up_logging
from queuelog_core.stores import is_table

Event = dict[str, Any]
Handler = Callable[[Event, Any], dict[str, Any]]
_T = TypeVar("_T")
_NOWHERE = "/-"
# A byte that no UTF-8 text has: the application refuses it when its turn comes, after the key.
_NO_TEXT = base64.b64encode(b"\xff").decode()

_log = logging.getLogger(__name__)

# Every type that is not listed is sent as base64.
if PROBLEM not in serverless_wsgi.TEXT_MIME_TYPES:
    serverless_wsgi.TEXT_MIME_TYPES.append(PROBLEM)


def handler_for(group: str) -> Handler:
    """The Lambda handler of a group; it answers every event and never raises."""
    open_app = functools.cache(functools.partial(_open_app, group))
    with contextlib.suppress(ConfigError):
        if is_table(load_config().store):
            # boto3 takes long to load, and until its first event a function has a whole processor.
            open_app()
    return functools.partial(handle, open_app)


def handle(open_app: Callable[[], Flask], event: Event, context: Any) -> dict[str, Any]:
    """Answer one payload-2.0 event. The first call opens the store; a failure is tried anew."""
    try:
        request = _repaired(event)
        reply: dict[str, Any] = serverless_wsgi.handle_request(open_app(), request, context)
        return _with_cookies(reply)
    except QueuelogError as error:
        if isinstance(error, StoreUnavailable):
            fields = {"code": error.code, "cause": error.reason}
            _log.error("store-error", extra={"fields": fields})
        return _refusal(event, error)
    except Exception as error:
        # A wrong setting names its variable; other texts might hold values of the request.
        cause = str(error) if isinstance(error, ConfigError) else type(error).__name__
        _log.error("unexpected-error", extra={"fields": {"cause": cause}})
        return _refusal(event, QueuelogError("The function failed; its log says where."))


def identify(environ: dict[str, Any]) -> Identity:
    """The identity in the authorizer's context. Raises Unauthorized without one."""
    try:
        context = environ["serverless.authorizer"]["lambda"]
        return Identity.from_json(json.loads(context["identity"]))
    except (KeyError, TypeError, ValueError, RecursionError):
        raise Unauthorized("No authorizer has proved who is calling.") from None


def _open_app(group: str) -> Flask:
    set_up_logging("INFO")  # so that a setting that is wrong is told in our form as well
    config = load_config()
    set_up_logging(config.log_level)
    queue = open_queue(config)
    app = create_app(queue, identify, routes_of(group))

    @app.teardown_request
    def flush(_: BaseException | None) -> None:
        # After its answer a function is frozen, and perhaps never thawed.
        queue.store.flush()

    return app


def _repaired(event: Event) -> Event:
    """The event without what would make serverless-wsgi raise, or read more than was sent."""
    if not isinstance(event, dict) or event.get("version") != "2.0":
        raise _no_request()
    context = _part(event, "requestContext", dict)
    path = _text(event, "rawPath") or _NOWHERE
    return {
        "version": "2.0",
        # The gateway has decoded the path once. What still holds an escape is no path of ours.
        "rawPath": _NOWHERE if "%" in path or "?" in path else path,
        "rawQueryString": _text(event, "rawQueryString"),
        "headers": _headers(_part(event, "headers", dict)),
        "body": _body(event),
        "isBase64Encoded": True,
        "requestContext": {
            "http": {"method": _text(_part(context, "http", dict), "method")},
            "stage": _text(context, "stage") or "$default",
            "authorizer": {"lambda": _part(context, "authorizer", dict).get("lambda")},
        },
    }


def _part(parts: Event, name: str, kind: type[_T]) -> _T:
    """A part of an event, empty if null or absent. Raises InvalidJson for one of another type."""
    value = parts.get(name)
    if value is not None and not isinstance(value, kind):
        raise _no_request()
    return kind() if value is None else value


def _text(parts: Event, name: str) -> str:
    """A text as UTF-8 can carry it: half a surrogate pair has no bytes."""
    return _part(parts, name, str).encode("utf-8", "replace").decode()


def _no_request() -> InvalidJson:
    return InvalidJson("This function answers HTTP API events of version 2.0.")


def _headers(headers: dict[str, Any]) -> dict[str, str]:
    """Names with an underscore would overwrite those with a dash, and an event holds the whole body
    whatever its Transfer-Encoding was; values become WSGI's Latin-1."""
    texts = {
        name: _text(headers, name).encode().decode("latin-1")
        for name, value in headers.items()
        if value is not None and "_" not in name and name.lower() != "transfer-encoding"
    }
    if any("\r" in text or "\n" in text for text in texts.values()):
        raise _no_request()
    return texts


def _body(event: Event) -> str:
    body = _part(event, "body", str)
    if not event.get("isBase64Encoded"):
        return base64.b64encode(body.encode("utf-8", "surrogatepass")).decode()
    try:
        return base64.b64encode(base64.b64decode(body, validate=True)).decode()
    except (binascii.Error, ValueError):
        return _NO_TEXT


def _with_cookies(reply: dict[str, Any]) -> dict[str, Any]:
    """Payload 2.0 wants cookies apart: a second header of one name would be lost."""
    headers = reply.get("headers", {})
    names = [name for name in headers if name.lower() == "set-cookie"]
    if names:
        reply["cookies"] = [headers.pop(name) for name in names]
    return reply


def _refusal(event: Event, error: QueuelogError) -> dict[str, Any]:
    """The answer where no application could give one."""
    headers = event.get("headers") if isinstance(event, dict) else None
    sent = headers if isinstance(headers, dict) else {}
    given = [value for name, value in sent.items() if name.lower() == "x-request-id"]
    request_id = request_id_from(given[0] if given and isinstance(given[0], str) else "")
    return {
        "statusCode": error.status,
        "headers": {"Content-Type": PROBLEM, "X-Request-Id": request_id, **error.headers},
        "body": compact(present_problem(error, request_id)),
        "isBase64Encoded": False,
    }
