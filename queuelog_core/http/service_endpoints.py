"""What the routes about the queue itself do: numbers, identity, health, contract."""

import math
from typing import Any

from queuelog_core.clock import format_instant
from queuelog_core.errors import StoreUnavailable
from queuelog_core.http.call import Call, Reply
from queuelog_core.job import Priority, Status
from queuelog_core.stores import Count


def stats(call: Call) -> Reply:
    numbers = call.queue.stats(call.identity)
    now = call.queue.clock()
    known = [name for name in call.queue.job_types if call.identity.may_use(name)]
    types = {
        name: {status.value: numbers.statuses.get(name, {}).get(status, 0) for status in Status}
        for name in sorted({*known, *numbers.statuses})
    }
    ages = {
        priority.label: _age(numbers.oldest_due_at[priority], now)
        for priority in sorted(Priority, reverse=True)
    }
    return Reply(
        200,
        {
            "as_of": format_instant(now),
            "exact": numbers.exact,
            "types": types,
            "due": _count(numbers.due),
            "delayed": _count(numbers.delayed),
            "expired_leases": _count(numbers.expired_leases),
            "oldest_due_age_seconds": ages,
            "late_reports": numbers.late_reports,
        },
    )


def whoami(call: Call) -> Reply:
    from queuelog_core.http.routes import ROUTES

    identity = call.identity
    usable = [name for name in sorted(call.queue.job_types) if identity.may_use(name)]
    return Reply(
        200,
        {
            "name": identity.name,
            "role": identity.role.value,
            "priority_max": identity.priority_max.label,
            "types": None if identity.types is None else sorted(identity.types),
            "usable_types": usable,
            "may": [
                f"{r.method} {r.path}" for r in ROUTES if not r.roles or identity.role in r.roles
            ],
        },
    )


def health(call: Call) -> Reply:
    found = call.probe.health()
    document = {
        "status": "ok" if found.is_writable else "unavailable",
        "age_seconds": math.floor(found.age_seconds),
    }
    if found.is_writable:
        return Reply(200, document)
    return Reply(503, document, {"Retry-After": str(StoreUnavailable.retry_after_seconds)})


def openapi(_: Call) -> Reply:
    from queuelog_core.http.openapi import openapi_document

    return Reply(200, openapi_document())


def _count(count: Count) -> dict[str, Any]:
    return {"count": count.count, "capped": count.capped}


def _age(due_at: int | None, now: int) -> float | None:
    return None if due_at is None else max(0, now - due_at) / 1000
