"""A request after all checks of the front, the reply to it, and the replies that many share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from queuelog_core.errors import invalid
from queuelog_core.http.bodies import KEY
from queuelog_core.http.present import present
from queuelog_core.http.rules import Refused
from queuelog_core.identity import Identity
from queuelog_core.job import Job
from queuelog_core.leases import Reported
from queuelog_core.probe import Probe
from queuelog_core.queue import Queue

REPLAYED = {"Idempotent-Replayed": "true"}


class Call(NamedTuple):
    """One request after all checks of the front: who asks, and the parsed body or query."""

    queue: Queue
    probe: Probe
    caller: Identity | None
    parsed: Any = None
    job_id: int = 0
    key_header: str | None = None
    request_id: str = ""

    @property
    def identity(self) -> Identity:
        assert self.caller is not None, "the route table lets nobody in without an identity"
        return self.caller


class Reply(NamedTuple):
    """Status, JSON document (None: no body) and headers; `job_id`, or how many `jobs`, is for the
    log."""

    status: int
    document: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    job_id: int | None = None
    jobs: int | None = None


def job_reply(
    call: Call, job: Job, status: int = 200, headers: Mapping[str, str] | None = None
) -> Reply:
    """The job as the caller may see it."""
    return Reply(status, present(job, call.identity), headers or {}, job.id)


def reported_reply(call: Call, reported: Reported, status: int = 200) -> Reply:
    """The job after a change, which may have been made before."""
    return job_reply(call, reported.job, status, REPLAYED if reported.replayed else {})


def key_from_header(header: str | None) -> str | None:
    """The key as it stands. A WSGI header is bytes in Latin-1's clothes; a key is UTF-8."""
    if header is None:
        return None
    try:
        key: str = KEY.check(header.encode("latin-1").decode("utf-8"))
    except (UnicodeError, Refused):
        raise invalid("Idempotency-Key", "wrong-format", "1 to 255 printable characters.") from None
    return key
