"""What all fronts are called through, and what each of them is called with."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.key_registry import KeyRegistry

Headers = list[tuple[str, str]]
CALLERS = {"producer": Role.PRODUCER, "worker": Role.WORKER, "admin": Role.ADMIN}


class Answer(NamedTuple):
    """What a client got; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Front(ABC):
    """One way to reach the API. `keys` are those of CALLERS."""

    name: str
    # Whether a gateway stands before the functions, which answers 401, 403 and 404 by itself.
    gateway: ClassVar[bool] = False
    # An own type where a scheduled worker would take the jobs of the others.
    job_type: ClassVar[str] = "email"

    def __init__(self, keys: Mapping[str, str]) -> None:
        self.keys = keys

    def call(
        self,
        method: str,
        path: str,
        key: str | None = None,
        body: Any = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Answer:
        """One request, with the key of a caller or with this very text; bytes are sent as they are,
        anything else as JSON."""
        sent = list(headers)
        if key is not None:
            sent.append(("X-API-Key", self.keys.get(key, key)))
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if raw is not None and all(name.lower() != "content-type" for name, _ in sent):
            sent.append(("Content-Type", "application/json"))
        answer = self.send(method, path, sent, raw)
        # The emulator tells of a function that crashed with 200.
        assert b'"errorType"' not in answer.body, answer
        return answer

    @abstractmethod
    def send(self, method: str, path: str, headers: Headers, body: bytes | None) -> Answer:
        """Send just this."""


def make_keys(registry: KeyRegistry) -> dict[str, str]:
    """A key for each of CALLERS, named as its role."""
    return {
        name: registry.create(name, role, priority_max=Priority.CRITICAL)[1]
        for name, role in CALLERS.items()
    }
