"""The same server behind the Lambda adapter: each request becomes an event, as the gateway does."""

import base64
import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from queuelog_core.http.app import create_app
from queuelog_core.http.lambda_adapter import handle, identify
from queuelog_core.key_registry.file import FileRegistry
from tests.functions.events import http_event
from tests.fuzz.schema_server import Server, Wsgi


class LambdaServer(Server):
    """One function that serves every route, and a gateway in front that calls it."""

    def front(self, registry: FileRegistry) -> Wsgi:
        app = create_app(self.queue, identify)

        def gateway(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            event = json.loads(json.dumps(event_of(environ, registry)))
            reply = json.loads(json.dumps(handle(lambda: app, event, None)))
            status = HTTPStatus(reply["statusCode"])
            start_response(f"{status.value} {status.phrase}", [*reply["headers"].items()])
            return [_bytes(reply)]

        return gateway


def event_of(environ: dict[str, Any], registry: FileRegistry) -> Any:
    """Payload 2.0. Without a key that fits, there is no identity from the authorizer."""
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): _text(value)
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in ("CONTENT_TYPE", "CONTENT_LENGTH")
    }
    return http_event(
        environ["REQUEST_METHOD"],
        _text(environ["PATH_INFO"]),
        registry.identify(headers.get("x-api-key", "")),
        base64.b64encode(environ["wsgi.input"].read()).decode(),
        isBase64Encoded=True,
        headers=headers,
        rawQueryString=environ["QUERY_STRING"],
    )


def _text(value: str) -> str:
    """A WSGI string is bytes in Latin-1's clothes."""
    return value.encode("latin-1").decode("utf-8", "replace")


def _bytes(reply: Any) -> bytes:
    # An empty answer has none.
    body: str = reply.get("body", "")
    return base64.b64decode(body) if reply.get("isBase64Encoded") else body.encode()
