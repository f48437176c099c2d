"""The functions behind a gateway that the tests play: events as AWS makes them, one authorizer."""

import base64
import json
import logging
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest

from queuelog_core.bootstrap import open_queue
from queuelog_core.config import Config
from queuelog_core.http import authorizer, lambda_adapter
from queuelog_core.http.routes import GROUPS, ROUTES, Route
from queuelog_core.identity import AUTHORIZERS
from tests.fronts.front import Answer, Front, Headers
from tests.functions.events import http_event
from tests.support.http import ROOT
from tests.support.runtime_api import runtime

Invoke = Callable[[str, Any], Any]
"""A handler's name, such as `claim.handler`, and an event to what it returns."""

HANDLERS = [f"{group}.handler" for group in GROUPS] + [f"authorize.{name}" for name in AUTHORIZERS]
_TEXTS = ("text/", "application/json", "application/javascript", "application/xml")


class GatewayFront(Front):
    """What API Gateway does with a request before a function sees it, and with what it returns."""

    gateway: ClassVar[bool] = True

    def __init__(self, name: str, invoke: Invoke, keys: Mapping[str, str]) -> None:
        super().__init__(keys)
        self.name = name
        self._invoke = invoke

    def send(self, method: str, path: str, headers: Headers, body: bytes | None) -> Answer:
        raw_path, _, query = path.partition("?")
        route = _route(method, raw_path)
        if route is None:
            return _own(404, "Not Found")
        event = _event(method, raw_path, query, headers, body)
        if route.authorizer is not None:
            key = event["headers"].get("x-api-key")
            if not key:
                return _own(401, "Unauthorized")
            proved = self._invoke(f"authorize.{route.authorizer}", _without_body(event, key))
            if not proved["isAuthorized"]:
                return _own(403, "Forbidden")
            event["requestContext"]["authorizer"] = {"lambda": proved["context"]}
        return _answer(self._invoke(f"{route.group}.handler", event))


def _route(method: str, path: str) -> Route | None:
    """Literal parts stand before parameters in the table, as the gateway prefers them."""
    for route in ROUTES:
        wanted, given = route.path.split("/"), path.split("/")
        fits = len(wanted) == len(given) and all(
            part == sent or (part == "{id}" and sent)
            for part, sent in zip(wanted, given, strict=True)
        )
        if fits and route.method == method:
            return route
    return None


def _event(method: str, path: str, query: str, headers: Headers, body: bytes | None) -> Any:
    event = http_event(method, unquote(path), rawQueryString=query)
    del event["body"], event["requestContext"]["authorizer"]
    del event["headers"]["x-api-key"], event["headers"]["content-type"]
    for name in dict.fromkeys(name.lower() for name, _ in headers):
        values = [value for given, value in headers if given.lower() == name]
        if name == "cookie":
            event["cookies"] = [part for value in values for part in value.split("; ")]
        else:
            event["headers"][name] = ",".join(values)
    event["headers"]["content-length"] = str(len(body or b""))
    if body:
        event |= _body(body, event["headers"].get("content-type", ""))
    return event


def _body(body: bytes, content_type: str) -> dict[str, Any]:
    if content_type.startswith(_TEXTS):
        try:
            return {"body": body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def _without_body(event: Any, key: str) -> Any:
    """What the authorizer gets."""
    kept = {name: part for name, part in event.items() if name not in ("body", "isBase64Encoded")}
    context = event["requestContext"]
    arn = f"arn:aws:execute-api:eu-central-1:{context['accountId']}:{context['apiId']}/$default"
    asked = f"{arn}/{context['http']['method']}{event['rawPath']}"
    return kept | {"type": "REQUEST", "routeArn": asked, "identitySource": [key]}


def _own(status: int, message: str) -> Answer:
    body = json.dumps({"message": message}).encode()
    return Answer(status, {"content-type": "application/json"}, body)


def _answer(reply: Any) -> Answer:
    headers = {name.lower(): value for name, value in reply.get("headers", {}).items()}
    body = reply.get("body", "")
    decoded = base64.b64decode(body) if reply.get("isBase64Encoded") else body.encode()
    return Answer(reply["statusCode"], headers, decoded)


@contextmanager
def in_this_process(settings: Mapping[str, str]) -> Iterator[Invoke]:
    """Every handler, cold-started under these settings."""
    opened = []

    def open_and_remember(config: Config) -> Any:
        opened.append(open_queue(config))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch, _logging_kept():
        for name, value in settings.items():
            patch.setenv(name, value)
        patch.setattr(lambda_adapter, "open_queue", open_and_remember)
        authorizer._registry.cache_clear()
        handlers = {name: _handler(name) for name in HANDLERS}
        for name, handler in handlers.items():
            handler(
                {"identitySource": ["x"]} if "authorize" in name else http_event("GET", "/-"), None
            )
    yield lambda name, event: _as_json(handlers[name](_as_json(event), None))
    for queue in opened:
        queue.store.close()
    authorizer._registry.cache_clear()


def _handler(name: str) -> Any:
    module, _, attribute = name.partition(".")
    return runpy.run_path(str(ROOT / "functions" / f"{module}.py"))[attribute]


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@contextmanager
def _logging_kept() -> Iterator[None]:
    """A function sets the process's logging up as its own."""
    root, own = logging.getLogger(), logging.getLogger("queuelog_core")
    handlers, levels = root.handlers[:], (root.level, own.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])


@contextmanager
def in_the_runtime(folder: Path, settings: Mapping[str, str]) -> Iterator[Invoke]:
    """Every handler in a process of its own under Lambda's runtime client."""
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(runtime(f"functions/{name}", folder / name, settings))
            for name in HANDLERS
        }
        yield lambda name, event: running[name].invoke(event)
