"""The gateway's authorizers: from a key to an identity, for the functions behind them.

An answer depends on the key alone, for the gateway keeps it and gives it to every route behind the
same authorizer; each function judges the role again. No Flask here: an authorizer starts often.
"""

import functools
import json
import logging
from collections.abc import Callable
from typing import Any

from queuelog_core.clock import SystemClock
from queuelog_core.config import load_config
from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.identity import AUTHORIZERS
from queuelog_core.key_registry import KeyRegistry, open_registry
from queuelog_core.logs import set_up_logging

_log = logging.getLogger(__name__)

Authorizer = Callable[[Any, Any], dict[str, Any]]


def authorizer_for(name: str) -> Authorizer:
    """The Lambda handler of one authorizer of the route table."""
    return functools.partial(authorize, name, _registry)


def authorize(
    name: str, registry: Callable[[], KeyRegistry], event: Any, _context: Any
) -> dict[str, Any]:
    """A payload-2.0 simple response, with the identity as JSON text for `lambda_adapter.identify`.

    Whatever is wrong with the key denies. Raises when nobody can tell: a denial, which the gateway
    keeps, would stop callers whose key is good.
    """
    key = _key(event)
    try:
        identity = registry().identify(key) if key else None
    except (ConfigError, StoreUnavailable) as error:
        fields = {"authorizer": name, "cause": str(error)}
        _log.error("authorizer-failed", extra={"fields": fields})
        raise
    if identity is None or identity.role not in AUTHORIZERS[name]:
        return {"isAuthorized": False}
    return {"isAuthorized": True, "context": {"identity": json.dumps(identity.to_json())}}


@functools.cache
def _registry() -> KeyRegistry:
    set_up_logging("INFO")  # so that a setting that is wrong is told in our form as well
    config = load_config()
    set_up_logging(config.log_level)
    return open_registry(config.keys, SystemClock())


def _key(event: Any) -> str:
    """The header's value: the identity source, which is where the gateway itself looked."""
    sources = event.get("identitySource") if isinstance(event, dict) else None
    key = sources[0] if isinstance(sources, list) and sources else None
    return key if isinstance(key, str) else ""
