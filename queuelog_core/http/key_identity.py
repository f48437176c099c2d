"""Identity from the header X-API-Key, as the local server takes it."""

from typing import Any

from queuelog_core.errors import Forbidden, Unauthorized
from queuelog_core.http.app import Identify
from queuelog_core.identity import Identity
from queuelog_core.key_registry import KeyRegistry


def identify_by_key(registry: KeyRegistry) -> Identify:
    """Look the key up; every unfit one gets the same answer."""

    def identify(environ: dict[str, Any]) -> Identity:
        key = environ.get("HTTP_X_API_KEY", "")
        if not key:
            raise Unauthorized("Send the header X-API-Key.")
        identity = registry.identify(key)
        if identity is None:
            raise Forbidden("The key is unknown, revoked or expired.")
        return identity

    return identify
