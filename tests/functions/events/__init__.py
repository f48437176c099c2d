"""Events as the gateway and the scheduler send them, and requests made from them."""

import copy
import json
from pathlib import Path
from typing import Any

from queuelog_core.identity import Identity

_FOLDER = Path(__file__).parent
SCHEDULED: Any = json.loads((_FOLDER / "scheduled.json").read_text("utf-8"))
_AUTHORIZER: Any = json.loads((_FOLDER / "authorizer.json").read_text("utf-8"))
_HTTP_API: Any = json.loads((_FOLDER / "http_api.json").read_text("utf-8"))


def http_event(
    method: str,
    path: str,
    identity: Identity | None = None,
    body: str | None = None,
    **changes: Any,
) -> Any:
    """A request of payload 2.0, with what the authorizer proved; `changes` replace whole parts."""
    event = copy.deepcopy(_HTTP_API)
    event |= {"rawPath": path, "routeKey": f"{method} {path}", "body": body}
    event["requestContext"]["http"] |= {"method": method, "path": path}
    if identity is not None:
        proved = {"identity": json.dumps(identity.to_json())}
        event["requestContext"]["authorizer"] = {"lambda": proved}
    return event | changes


def authorizer_event(key: str, method: str = "POST", path: str = "/jobs", **changes: Any) -> Any:
    """What the gateway asks an authorizer about a request with this key."""
    event = copy.deepcopy(_AUTHORIZER)
    event |= {"identitySource": [key], "rawPath": path, "routeKey": f"{method} {path}"}
    event["headers"]["x-api-key"] = key
    event["requestContext"]["http"] |= {"method": method, "path": path}
    return event | changes


def with_headers(event: Any, **headers: str) -> Any:
    """The event with more headers; names are as the gateway sends them, with dashes for `__`."""
    more = {name.replace("__", "-"): value for name, value in headers.items()}
    return event | {"headers": event["headers"] | more}


def assert_problem(reply: Any, status: int, code: str) -> None:
    """What a function returned must be this refusal, as text."""
    assert reply["statusCode"] == status, reply
    headers = {name.lower(): value for name, value in reply["headers"].items()}
    assert headers["content-type"] == "application/problem+json"
    assert reply["isBase64Encoded"] is False
    assert json.loads(reply["body"])["code"] == code
