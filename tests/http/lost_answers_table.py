"""What a repeat is told whose first answer was lost, by hand from the contract.

Words: status and code, the job's status, the header Idempotent-Replayed; `late`: that call was
counted as a late report. A situation is what happened to job 1 before, step by step.
"""

from collections.abc import Callable
from typing import Any

from tests.support.http import Api
from tests.support.lossy import Request

LEASE = 300
BY_HEADER = {"Idempotency-Key": "k"}
BY_FIELD = {"type": "email", "idempotency_key": "k"}
DONE = {"done": True}
REQUESTS: dict[str, Request] = {
    "enqueue by field": Request("/jobs", "producer", BY_FIELD),
    "enqueue by header": Request("/jobs", "producer", {"type": "email"}, BY_HEADER),
    "batch": Request(
        "/jobs/batch", "producer", {"jobs": [BY_FIELD, BY_FIELD | {"idempotency_key": "l"}]}
    ),
    "claim": Request("/jobs/claim", "worker", {}, BY_HEADER),
    "claim many": Request("/jobs/claim", "worker", {"limit": 2}, BY_HEADER),
    "complete": Request("/jobs/1/complete", "worker", {"attempt": 1, "result": DONE}),
    "fail": Request("/jobs/1/fail", "worker", {"attempt": 1, "error": "boom", "error_code": "b"}),
    "release": Request("/jobs/1/release", "worker", {"attempt": 1}),
    "heartbeat": Request("/jobs/1/heartbeat", "worker", {"attempt": 1}),
    "cancel": Request("/jobs/1/cancel", "producer"),
    "redrive": Request("/jobs/1/redrive", "admin", {}),
    "redrive many": Request("/jobs/redrive", "admin", {"all": True}),
}


def post(verb: str, key: str = "worker", **body: Any) -> Callable[[Api], Any]:
    return lambda api: api.call("POST", f"/jobs/1/{verb}", key, body)


STEPS: dict[str, Callable[[Api], Any]] = {
    "enqueued": lambda api: api.enqueue(idempotency_key="k"),
    "enqueued-for-one-run": lambda api: api.enqueue(idempotency_key="k", max_retries=0),
    "claimed": lambda api: api.claim(),
    "claimed-by-another": lambda api: api.claim("other-worker"),
    "lease-over": lambda api: api.clock.advance(LEASE),
    "settled": lambda api: api.queue.leases.recover(1),
    "heartbeat": post("heartbeat", extend_seconds=2 * LEASE),
    "complete": post("complete", result=DONE),
    "complete-by-another": post("complete", "other-worker"),
    "fail": post("fail"),
    "fail-for-good": post("fail", retryable=False),
    "release": post("release"),
    "cancel": post("cancel", "producer"),
    "redrive": post("redrive", "admin"),
}
STATES = {
    "none": "",
    "pending": "enqueued",
    "mine": "enqueued claimed",
    "another's": "enqueued claimed-by-another",
    "overdue": "enqueued claimed lease-over",
    "expired": "enqueued claimed lease-over settled",
    "expired-for-good": "enqueued-for-one-run claimed lease-over settled",
    "completed": "enqueued claimed complete",
    "failed": "enqueued claimed fail-for-good",
    "cancelled": "enqueued cancel",
    "asked": "enqueued claimed cancel",
    "redriven": "enqueued claimed fail-for-good redrive",
}

# For each verb: states of the job, what was lost, and what the repeat is told if not the same.
_KNOWN = [
    ("pending expired redriven", "200 pending replayed"),
    ("mine another's overdue asked", "200 running replayed"),
    ("completed", "200 completed replayed"),
    ("failed", "200 failed replayed"),
    ("cancelled", "200 cancelled replayed"),
]
_NOT_MINE = [("none pending cancelled", "409 conflict"), ("another's", "409 not-owner")]
_NOT_TO_COMPLETE = [
    *_NOT_MINE,
    ("expired expired-for-good", "409 lease-lost late"),
    ("completed failed redriven", "409 already-reported"),
]
_GIVEN_UP = [
    *_NOT_TO_COMPLETE,
    ("mine", "200 pending", "200 pending replayed"),
    ("overdue", "200 pending late", "200 pending replayed"),
    ("asked", "200 cancelled", "200 cancelled replayed"),
]
_ALL_KNOWN = "pending mine another's overdue expired completed failed cancelled asked redriven"
_NOT_DUE = "none mine another's expired-for-good completed failed cancelled asked"
_NOT_DEAD = "pending mine another's overdue expired completed asked"
TABLE: dict[str, list[tuple[str, ...]]] = {
    "enqueue by field": [
        ("none", "201 pending", "200 pending replayed"),
        *_KNOWN,
        ("expired-for-good", "200 failed mismatch replayed"),
    ],
    "enqueue by header": [
        ("none", "201 pending", "200 pending replayed"),
        *_KNOWN,
        ("expired-for-good", "422 idempotency-key-reused"),
    ],
    "batch": [
        ("none", "200 created created", "200 replayed replayed"),
        (_ALL_KNOWN, "200 replayed created", "200 replayed replayed"),
        ("expired-for-good", "200 mismatch created", "200 mismatch replayed"),
    ],
    "claim": [
        ("pending overdue expired redriven", "200 running", "200 running replayed"),
        (_NOT_DUE, "204"),
    ],
    "claim many": [
        ("pending overdue expired redriven", "200 jobs 1", "200 jobs 1 replayed"),
        (_NOT_DUE, "200 jobs"),
    ],
    "complete": [
        *_NOT_MINE,
        ("mine asked", "200 completed", "200 completed replayed"),
        ("overdue expired expired-for-good", "200 completed late", "200 completed replayed"),
        ("completed", "200 completed replayed"),
        ("failed redriven", "409 already-reported"),
    ],
    "fail": _GIVEN_UP,
    "release": _GIVEN_UP,
    "heartbeat": [
        *_NOT_TO_COMPLETE,
        ("mine asked", "200 extended", "200 kept"),
        ("overdue", "200 extended late", "200 kept"),
    ],
    "cancel": [
        ("none", "404 not-found"),
        ("pending expired overdue redriven", "200 cancelled", "200 cancelled replayed"),
        ("mine another's", "202 running", "202 running replayed"),
        ("asked", "202 running replayed"),
        ("cancelled", "200 cancelled replayed"),
        ("completed failed expired-for-good", "409 conflict"),
    ],
    "redrive": [
        ("none", "404 not-found"),
        ("failed expired-for-good cancelled", "200 pending", "200 pending replayed"),
        ("redriven", "200 pending replayed"),
        (_NOT_DEAD, "409 conflict"),
    ],
    "redrive many": [
        ("failed expired-for-good cancelled", "200 1 of 1", "200 0 of 0"),
        (f"none redriven {_NOT_DEAD}", "200 0 of 0"),
    ],
}

# For each verb: the state, what happened before the repeat, and what that is told.
_HANDED_BACK = [
    ("mine", "claimed", "200 running replayed"),
    ("mine", "claimed-by-another", "200 running replayed"),
    ("mine", "claimed lease-over settled", "200 pending replayed"),
    ("mine", "claimed-by-another complete-by-another", "200 completed replayed"),
    ("mine", "claimed fail-for-good", "200 failed replayed"),
    ("mine", "claimed fail-for-good redrive", "200 pending replayed"),
    ("mine", "cancel", "200 cancelled replayed"),
    ("asked", "redrive", "200 pending replayed"),
]
_ENQUEUED = [
    ("none", "claimed", "200 running replayed"),
    ("none", "claimed complete", "200 completed replayed"),
    ("none", "claimed fail-for-good", "200 failed replayed"),
    ("none", "cancel", "200 cancelled replayed"),
    ("none", "cancel redrive", "200 pending replayed"),
]
MOVED: dict[str, list[tuple[str, str, str]]] = {
    "enqueue by field": _ENQUEUED,
    "enqueue by header": _ENQUEUED,
    "batch": [(before, happened, "200 replayed replayed") for before, happened, _ in _ENQUEUED],
    "claim": [
        ("pending", "heartbeat", "200 running replayed"),
        ("pending", "cancel", "200 running replayed"),
        ("pending", "lease-over", "200 running replayed"),
        ("pending", "lease-over settled", "200 running"),
        ("pending", "fail", "200 running"),
        ("pending", "release", "200 running"),
        ("pending", "fail-for-good redrive", "200 running"),
        ("pending", "complete", "204"),
        ("pending", "fail-for-good", "204"),
        ("pending", "lease-over cancel", "204"),
        ("pending", "release claimed-by-another", "204"),
        ("pending", "fail claimed", "204"),
    ],
    "fail": _HANDED_BACK,
    "release": _HANDED_BACK,
    "heartbeat": [
        ("mine", "cancel", "200 kept"),
        ("mine", "complete", "409 already-reported"),
        ("mine", "fail claimed", "409 already-reported"),
        ("mine", "release", "409 already-reported"),
        ("mine", "lease-over", "200 extended late"),
        ("mine", "lease-over settled", "409 lease-lost late"),
        ("mine", "lease-over settled claimed-by-another", "409 lease-lost late"),
    ],
    "cancel": [
        ("pending", "redrive", "200 cancelled"),
        ("mine", "complete", "409 conflict"),
        ("mine", "fail", "200 cancelled replayed"),
        ("mine", "release", "200 cancelled replayed"),
        ("mine", "lease-over", "200 cancelled"),
        ("mine", "lease-over settled", "200 cancelled replayed"),
    ],
    "redrive": [
        ("failed", "claimed", "409 conflict"),
        ("failed", "claimed release", "409 conflict"),
        ("failed", "claimed complete", "409 conflict"),
        ("failed", "cancel", "200 pending"),
        ("failed", "claimed fail-for-good", "200 pending"),
    ],
    "redrive many": [
        ("failed", "claimed", "200 0 of 0"),
        ("failed", "claimed fail-for-good", "200 1 of 1"),
    ],
}
