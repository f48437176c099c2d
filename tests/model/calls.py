"""What is asked of the queue, by whom, and what the contract answers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Job = dict[str, Any]
"""The 22 fields of the contract, and what nobody is shown: `history`, `sent`, `claim`,
`redriven_by`."""


class Caller(NamedTuple):
    """Who a key stands for; `types` None: all of them."""

    name: str
    role: str
    priority_max: str
    types: frozenset[str] | None = None

    def may_use(self, job_type: str) -> bool:
        return self.types is None or job_type in self.types

    def sees(self, job: Job) -> bool:
        if self.role == "producer":
            return bool(job["producer_id"] == self.name)
        return self.role == "admin" or self.may_use(job["type"])


class Request(NamedTuple):
    """One call of a verb. `body` is the query where the verb reads; `header` is Idempotency-Key."""

    verb: str
    key: str
    job_id: int | None = None
    body: Mapping[str, Any] = {}
    header: str | None = None


class Answer(NamedTuple):
    """What the contract answers; a refusal has a `code`, anything else a `body`."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}
    code: str | None = None


class Refusal(Exception):
    """The status and code of a problem."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.answer = Answer(status, code=code)


def invalid(*when: bool) -> None:
    """Refuse what the schema or the allowlist does not let pass."""
    if any(when):
        raise Refusal(422, "validation-failed")


def sent_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """`null` for an optional field means absent."""
    return {name: value for name, value in body.items() if value is not None}
