"""An application in this process as the transport of a client: no network, the whole contract."""

from flask import Flask
from werkzeug.test import EnvironBuilder, run_wsgi_app

from queuelog_core.client import Request, Response, Transport


def in_process(app: Flask) -> Transport:
    """A transport for `Client(transport=...)`. Any number of threads may use it."""

    def send(request: Request) -> Response:
        builder = EnvironBuilder(
            path=request.path,
            method=request.method,
            headers=list(request.headers.items()),
            data=request.body or None,
        )
        try:
            body, status, headers = run_wsgi_app(app, builder.get_environ(), buffered=True)
        finally:
            builder.close()
        shown = {name.lower(): value for name, value in headers.items()}
        return Response(int(status.split()[0]), shown, b"".join(body))

    return send
