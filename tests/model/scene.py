"""Who plays, with what: the callers, the types, and the bodies that the machine draws from."""

from itertools import product
from typing import Any

from queuelog_core.job import PRIORITIES
from queuelog_core.job_types import Backoff, BackoffKind, JobTypes, Policy
from tests.model.calls import Caller
from tests.model.world import TypeRules
from tests.support.http import KEYS

RETENTION_SECONDS = 2_592_000
PRODUCERS = ("producer", "low-producer")
PROCESSES = {
    "mailer-1": "worker",
    "mailer-2": "worker",
    "printer": "other-worker",
    "painter": "pdf-worker",
    "operator": "admin",
}
"""Processes that claim, and their keys: two of them are one identity."""
CALLERS = {
    key: Caller(who.name, who.role.value, who.priority_max.label, who.types)
    for key, who in KEYS.items()
}
TYPES = {
    "email": TypeRules(),
    "pdf": TypeRules(1, 60, 300, ("exponential", 2, 5), priority_max="high"),
    "sync": TypeRules(2, 10, 60, ("fixed", 7, 7)),
    "fax": TypeRules(accept=False),
}
ATTEMPT_MAX = 2**53 - 1

Body = dict[str, Any]

_WHEN: list[Body] = [{}, {}, {}, {"delay_seconds": 5}, {"run_at_in": 40}, {"run_at_in": -5}]
_PRIORITY: list[Body] = [{}, *({"priority": label} for label in ("low", "medium", "HIGH", "high"))]
_RETRIES: list[Body] = [{}, {"max_retries": 0}, {"max_retries": 1}, {"max_retries": 25}]
_REFUSED: list[Body] = [
    {"type": "email", "priority": "critical"},
    {"type": "fax"},
    {"type": "telex"},
    {"type": "email", "max_retries": 26},
    {"type": "email", "delay_seconds": 31_536_001},
    {"type": "email", "run_at_in": 31_536_001},
    {"type": "email", "delay_seconds": 1, "run_at_in": 1},
    {"type": "email", "kind": "letter"},
    {},
]
ENQUEUES: list[Body] = [
    *(
        {"type": name, **payload, **priority, **retries, **when}
        for name, payload in (
            ("email", {"payload": {"to": "ada"}}),
            ("pdf", {}),
            ("sync", {"payload": {"ü": [1, None, "\0"], "a": {}}}),
        )
        for priority, retries, when in product(_PRIORITY, _RETRIES, _WHEN)
    ),
    *_REFUSED,
]
"""`run_at_in` stands for a `run_at` so many seconds ahead, `created_after_of` for when one of the
jobs was created, counted from the newest."""

CLAIMS: list[Body] = [
    {},
    {"limit": 3},
    {"types": ["email"]},
    {"types": ["pdf", "sync"], "limit": 25},
    {"lease_seconds": 3},
    {"types": ["pdf"], "lease_seconds": 200, "limit": 1},
    {"types": ["sync"], "lease_seconds": 30, "worker_id": "somebody"},
    {"limit": 2, "lease_seconds": 1},
]
CLAIMS_REFUSED: list[Body] = [
    {"types": []},
    {"types": ["telex"]},
    {"types": ["sync"], "lease_seconds": 61},
    {"lease_seconds": 0},
    {"limit": 26},
]
COMPLETES: list[Body] = [{}, {"result": {"sent": True}}, {"result": [1, "ü"]}, {"result": "done"}]
FAILS: list[Body] = [
    {},
    {"error": "smtp down", "error_code": "smtp_down"},
    {"error": "smtp\0down"},
    {"error": "é" * 600 + "x", "retry_in_seconds": 0},
    {"retry_in_seconds": 20},
    {"error_code": "broken", "retryable": False},
    {"retryable": False},
]
FAILS_REFUSED: list[Body] = [
    {"error_code": "lease_expired"},
    {"retryable": False, "retry_in_seconds": 1},
    {"retry_in_seconds": 86_401},
    {"attempt": 0},
]
HEARTBEATS: list[Body] = [*[{}] * 6, {"extend_seconds": 20}, {"extend_seconds": 310}]
HEARTBEATS += [{"extend_seconds": 43_200}]
RELEASES: list[Body] = [{}, {"delay_seconds": 0}, {"delay_seconds": 3}]
REPORTS = {"complete": COMPLETES, "fail": FAILS, "heartbeat": HEARTBEATS, "release": RELEASES}
FILTERS: list[Body] = [
    {"filter": {"status": "failed"}},
    {"filter": {"status": "cancelled"}},
    {"all": True},
    {"all": True, "limit": 1},
    {"all": True, "limit": 2},
    {"all": True, "filter": {}},
    {"filter": {"status": "failed", "type": "pdf"}, "limit": 2},
    {"filter": {"status": "failed", "error_code": "lease_expired"}},
    {"filter": {"status": "cancelled", "created_after_of": 1}},
    {"filter": {"status": "failed", "created_before_of": 1}},
    {"filter": {"status": "cancelled", "created_before_of": 0}},
    {"all": True, "dry_run": True},
    {"filter": {"type": "pdf"}},
    {"filter": {"status": "failed", "type": "telex"}},
    {"limit": 3},
]
QUERIES: list[Body] = [
    {},
    {"limit": 5},
    {"status": "pending"},
    {"status": "running", "order": "asc"},
    {"status": "failed", "limit": 3},
    {"status": "cancelled", "order": "asc", "limit": 2},
    {"type": "pdf"},
    {"priority": "low", "limit": 4},
    {"producer_id": "shop", "limit": 3},
    {"worker_id": "mailer"},
    {"created_after_in": -300, "order": "asc"},
    {"created_before_in": -1},
    {"created_after_of": 2, "limit": 4},
    {"created_before_of": 1, "order": "asc", "limit": 4},
    {"type": "telex"},
]


def job_types() -> JobTypes:
    """TYPES as the product reads them."""
    return JobTypes({name: _policy(rules) for name, rules in TYPES.items()})


def _policy(rules: TypeRules) -> Policy:
    kind, base, most = rules.backoff
    return Policy(
        max_retries=rules.max_retries,
        lease_seconds=rules.lease_seconds,
        max_runtime_seconds=rules.max_runtime_seconds,
        backoff=Backoff(BackoffKind(kind), base, most),
        priority_max=PRIORITIES[rules.priority_max],
        accept=rules.accept,
    )
