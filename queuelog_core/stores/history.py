"""The history of a job as compact text, the same in every store.

A list an attempt, the oldest first: [attempt, worker_id, claimed_at] while it runs, then also
[…, ended_at, first letter of the outcome, error_code, 1 retry spent + 2 closed, report].
"""

import json
from collections.abc import Iterable
from typing import Any

from queuelog_core.documents import compact
from queuelog_core.job import Attempt, Outcome

HISTORY_BYTES_MAX = 2048
_OUTCOMES = {outcome.value[0]: outcome for outcome in Outcome}


def encode_history(history: Iterable[Attempt]) -> str:
    """At most 2 KiB: names and codes of extreme length push the oldest attempts out."""
    entries = [_encode(entry) for entry in history]
    while True:
        text = compact(entries)
        if len(text) <= HISTORY_BYTES_MAX:
            return text
        entries = entries[1:]


def decode_history(text: str) -> tuple[Attempt, ...]:
    """The inverse of encode_history."""
    return () if text == "[]" else tuple(_decode(*entry) for entry in json.loads(text))


def _encode(entry: Attempt) -> list[Any]:
    start: list[Any] = [entry.attempt, entry.worker_id, entry.claimed_at]
    if entry.outcome is None:
        return start
    flags = entry.retry_spent + 2 * entry.closed
    return [*start, entry.ended_at, entry.outcome.value[0], entry.error_code, flags, entry.report]


def _decode(
    attempt: int,
    worker_id: str,
    claimed_at: int,
    ended_at: int | None = None,
    outcome: str | None = None,
    error_code: str | None = None,
    flags: int = 0,
    report: str | None = None,
) -> Attempt:
    return Attempt(
        attempt=attempt,
        worker_id=worker_id,
        claimed_at=claimed_at,
        ended_at=ended_at,
        outcome=_OUTCOMES[outcome] if outcome else None,
        error_code=error_code,
        retry_spent=bool(flags & 1),
        closed=bool(flags & 2),
        report=report,
    )
