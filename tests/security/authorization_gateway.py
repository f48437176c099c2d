"""A gateway before the functions: it asks the authorizer of a route, keeps the answer for the key
whatever the route, and hands its context to the function of the route."""

import json
from typing import Any

from queuelog_core.http.authorizer import authorize
from queuelog_core.http.lambda_adapter import handle
from queuelog_core.http.routes import ROUTES
from tests.functions.events import authorizer_event, http_event, with_headers
from tests.security.authorization_world import REQUEST_ID, World, body_of
from tests.support.servers import Answer

AUTHORIZER_OF = {(route.method, route.path): route.authorizer for route in ROUTES}
Kept = dict[tuple[str, str], Any]
"""Answers of authorizers, by authorizer and key."""


class Gateway:
    """What an HTTP API does with a request. Its own answers have no headers."""

    def __init__(self, world: World, kept: Kept) -> None:
        self._world = world
        self._kept = kept

    def ask(self, caller: str, method: str, path: str, state: str = "-") -> Answer:
        """Send what a row of the authorization table stands for."""
        authorizer = AUTHORIZER_OF[method, path]
        key = self._world.keys.secrets[caller]
        if authorizer is None:
            return self.invoke(method, path, self.event(None, method, path, state))
        if not key:
            return Answer(401, {}, '{"message":"Unauthorized"}')
        said = self.said(authorizer, key, method, path)
        if not said["isAuthorized"]:
            return Answer(403, {}, '{"message":"Forbidden"}')
        return self.invoke(method, path, self.event(said["context"], method, path, state))

    def said(self, authorizer: str, key: str, method: str = "GET", path: str = "/whoami") -> Any:
        """The answer of an authorizer, asked when it is not known yet."""
        if (authorizer, key) not in self._kept:
            event = authorizer_event(key, method, path)
            said = authorize(authorizer, lambda: self._world.keys.registry, event, None)
            self._kept[authorizer, key] = json.loads(json.dumps(said))
        return self._kept[authorizer, key]

    def event(self, context: Any, method: str, path: str, state: str = "-") -> Any:
        """A request with what an authorizer proved, or without anything proved."""
        body = body_of(method, path, state)
        event = http_event(method, self._world.place(path, state), body=body)
        del event["requestContext"]["authorizer"]
        if context is not None:
            event["requestContext"]["authorizer"] = {"lambda": context}
        return with_headers(event, x__request__id=REQUEST_ID)

    def invoke(self, method: str, path: str, event: Any) -> Answer:
        """What the function of a route answers to an event."""
        reply = handle(lambda: self._world.function_of(method, path), event, None)
        return Answer(reply["statusCode"], reply["headers"], reply.get("body", ""))
