"""Every answer of the application: a document or a problem, and what its log line tells."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, g
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as NoSuchMethod

from queuelog_core.documents import compact
from queuelog_core.errors import (
    InvalidJson,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    QueuelogError,
    StoreUnavailable,
)
from queuelog_core.http.bodies import REQUEST_BYTES_MAX
from queuelog_core.http.call import Reply
from queuelog_core.http.present import present_problem

PROBLEM = "application/problem+json"
TOO_LARGE = f"At most {REQUEST_BYTES_MAX} bytes a request."
_log = logging.getLogger(__name__)


@dataclass
class Trace:
    """What the log line of a request tells."""

    request_id: str
    started: float
    key_id: str = "-"
    job_id: int | None = None
    jobs: int | None = None


class _Answer(Response):
    """Its headers are final when it is made; Werkzeug would copy them and look for what to mend."""

    def get_wsgi_headers(self, _environ: Any) -> Headers:
        return self.headers


def respond(reply: Reply) -> Response:
    """The answer of an endpoint that has done what was asked."""
    if reply.document is not None:
        return _answer(compact(reply.document), reply.status, reply.headers, "application/json")
    response = _Answer(status=reply.status, headers=dict(reply.headers))
    del response.headers["Content-Type"]
    return response


def _answer(text: str, status: int, headers: Mapping[str, str], content_type: str) -> Response:
    return _Answer(text, status, dict(headers), content_type=content_type)


def problem(error: QueuelogError) -> Response:
    """A refusal; what broke below us goes to the log, and only there."""
    if isinstance(error, StoreUnavailable):
        fields = {"request_id": g.trace.request_id, "code": error.code, "cause": error.reason}
        _log.error("store-error", extra={"fields": fields})
    document = present_problem(error, g.trace.request_id)
    return _answer(compact(document), error.status, error.headers, PROBLEM)


def http_problem(error: HTTPException) -> Response:
    """What Flask and Werkzeug refuse by themselves, in our words and form."""
    if isinstance(error, NoSuchMethod):
        allow = {"Allow": ", ".join(sorted(error.valid_methods or ()))}
        return problem(MethodNotAllowed("See the header Allow.", headers=allow))
    match error.code:
        case 404:
            return problem(NotFound())
        case 413:
            return problem(PayloadTooLarge(TOO_LARGE))
        case 400:
            return problem(InvalidJson("The body could not be read."))
        case _:
            return unexpected(error)


def unexpected(error: Exception) -> Response:
    """The last resort: where it happened goes to the log, without values; nothing to the caller."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    fields = {
        "request_id": g.trace.request_id,
        "cause": type(error).__name__,
        "frames": frames[-8:],
    }
    _log.error("unexpected-error", extra={"fields": fields})
    return problem(QueuelogError("The server failed; the request id leads to its log."))
