"""A claim with a key looks at one state of the file, whatever others do between its statements.

Else a repeat could be given the attempt of another claim, or find neither the job that the first
call has just got nor any other (B24, B32).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from queuelog_core import transitions
from queuelog_core.stores import Taken
from queuelog_core.stores import sqlite_steps as steps
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.factories import LEASE, NOON
from tests.support.stores import insert, settle

KEY, OTHER_KEY = b"the key of this claim", b"the key of another"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "queuelog.db")
    yield store
    store.close()


@pytest.fixture
def other(store: SqliteStore, tmp_path: Path) -> Iterator[SqliteStore]:
    """Another process, as far as the file can tell."""
    other = SqliteStore(tmp_path / "queuelog.db")
    yield other
    other.close()


def claim(store: SqliteStore, key: bytes, now: int = NOON) -> Taken:
    return store.claim(
        now,
        ["email"],
        1,
        settle(now),
        lambda job: transitions.claim(job, now, "mailer", LEASE, key),
        key,
        tell_next_due=True,
    )


def once_after(monkeypatch: pytest.MonkeyPatch, name: str, meanwhile: Callable[[], object]) -> None:
    """Let something happen right after the first call of a step."""
    step: Callable[..., Any] = getattr(steps, name)
    left = [meanwhile]

    def stepped(*given: Any) -> Any:
        answer = step(*given)
        if left:
            left.pop()()
        return answer

    monkeypatch.setattr(steps, name, stepped)


def attempts(taken: Taken) -> Sequence[tuple[int, int, bytes | None]]:
    return [(job.id, job.attempt, job.claim_key) for job in taken.jobs]


def test_a_repeat_is_not_empty_when_the_first_call_commits_between_its_looks(
    store: SqliteStore, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(store)
    first: list[Taken] = []
    once_after(monkeypatch, "find_claimed", lambda: first.append(claim(other, KEY)))

    repeated = claim(store, KEY)

    assert attempts(repeated) == attempts(first[0]) == [(1, 1, KEY)]
    assert repeated.replayed


def test_a_repeat_never_gets_the_attempt_of_another_claim(
    store: SqliteStore, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(store)
    claim(store, KEY)
    get = steps.get

    def get_late(*given: Any) -> Any:
        monkeypatch.setattr(steps, "get", get)
        claim(other, OTHER_KEY, NOON + LEASE)
        return get(*given)

    monkeypatch.setattr(steps, "get", get_late)
    repeated = claim(store, KEY)

    assert attempts(repeated) == [(1, 1, KEY)]
    now = other.get(1)
    assert now is not None
    assert (now.attempt, now.claim_key) == (2, OTHER_KEY)
