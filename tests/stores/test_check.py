"""`db check`: each kind of damage is found and named, and a sound file passes."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from queuelog_core import transitions
from queuelog_core.stores import open_store
from queuelog_core.stores.operators import open_file
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.stores.sqlite_check import RULES, SHOWN_MAX
from tests.support.backlogs import thread_connection
from tests.support.factories import NOON, pending_job
from tests.support.processes import until_free
from tests.support.stores import TYPES, claim_one, claims, complete, fail, insert, settle
from tests.support.writers import writers

COMPLETED, RUNNING, WAITING, RETRIED, CANCELLED = 1, 2, 3, 4, 5
BREAKS = [
    ("jobs without a payload", "DELETE FROM job_payloads WHERE job_id = 3", WAITING),
    ("payloads without a job", "INSERT INTO job_payloads VALUES (99, '{}')", 99),
    (
        "results of jobs that are not completed",
        "INSERT INTO job_results VALUES (3, '[1]')",
        WAITING,
    ),
    ("results of jobs that are not completed", "INSERT INTO job_results VALUES (99, '[1]')", 99),
    ("error texts without a job", "INSERT INTO attempt_errors VALUES (99, 1, 'text')", 99),
    ("jobs whose error text is missing", "DELETE FROM attempt_errors WHERE job_id = 4", RETRIED),
    (
        "jobs whose attempt is not the newest of their history",
        "UPDATE jobs SET attempt = 7 WHERE id = 1",
        COMPLETED,
    ),
    (
        "jobs whose attempt is not the newest of their history",
        "UPDATE jobs SET history = '[]' WHERE id = 1",
        COMPLETED,
    ),
    (
        "jobs that run without an open attempt, or have one without running",
        "UPDATE jobs SET history = json_set(history, '$[#-1][3]', 0) WHERE id = 2",
        RUNNING,
    ),
    (
        "jobs that run without an open attempt, or have one without running",
        "UPDATE jobs SET history = '[[1,\"mailer\",0]]' WHERE id = 1",
        COMPLETED,
    ),
    (
        "jobs that remember an idempotent claim without running",
        "UPDATE jobs SET claim_key = x'00' WHERE id = 3",
        WAITING,
    ),
    (
        "jobs whose id may be given out again",
        "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'jobs'",
        CANCELLED,
    ),
    (
        "jobs of types whose counters are wrong",
        "UPDATE counters SET n = n + 1 WHERE name = 'running'",
        RUNNING,
    ),
    (
        "jobs of types whose counters are wrong",
        "DELETE FROM counters WHERE name = 'cancelled'",
        CANCELLED,
    ),
]
"""A rule, a statement that breaks it, and the job that is named then."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a job in each of several states."""
    path = tmp_path / "queuelog.db"
    store = open_store(f"sqlite:///{path}")
    for _ in range(2):
        insert(store)
    complete(store, claim_one(store), result="[1]")
    store.claim(NOON, TYPES, 1, settle(NOON), claims(NOON), b"key")
    insert(store, run_at=NOON + 1)
    insert(store)
    fail(store, claim_one(store), error="text")
    insert(store)
    store.update(CANCELLED, lambda job: transitions.cancel(job, NOON))
    store.close()
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def check(path: Path) -> list[str]:
    file = open_file(f"sqlite:///{path}")
    try:
        return list(file.check())
    finally:
        file.close()


def test_a_sound_file_has_no_faults(path: Path) -> None:
    assert check(path) == []


def test_every_rule_is_broken_by_a_test() -> None:
    assert {rule for rule, _, _ in BREAKS} == set(RULES)


@pytest.mark.parametrize(("rule", "statement", "named"), BREAKS)
def test_damage_that_no_constraint_holds_back_is_named_with_its_job(
    path: Path, rule: str, statement: str, named: int
) -> None:
    change(path, statement)

    assert f"1 {rule}: {named}" in check(path)


def test_counters_that_nothing_counts_are_found(path: Path) -> None:
    change(path, "INSERT INTO counters VALUES ('gone', 'failed', 1)")

    assert check(path) == ["1 counters of types and statuses that no job has"]


def test_counters_at_zero_and_those_of_late_reports_are_no_fault(path: Path) -> None:
    change(path, "INSERT INTO counters VALUES ('gone', 'failed', 0), ('gone', 'late_reports', 3)")

    assert check(path) == []


def test_many_jobs_with_one_fault_are_counted_and_only_some_are_named(path: Path) -> None:
    store = open_store(f"sqlite:///{path}")
    store.insert_many([pending_job() for _ in range(10)])
    store.close()
    change(path, "DELETE FROM job_payloads WHERE job_id > 5")

    assert check(path) == [f"10 jobs without a payload: {', '.join(map(str, range(6, 11)))}, …"]
    assert SHOWN_MAX == 5


def test_what_sqlite_itself_finds_is_told(path: Path) -> None:
    """An index that no longer holds what its definition says."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'created_at', 'run_at')"
            " WHERE name = 'jobs_created'"
        )
        connection.commit()

    assert "the file is damaged: row 3 missing from index jobs_created" in check(path)


def test_a_check_sees_one_instant(path: Path) -> None:
    """What others do meanwhile is neither half seen nor waited for."""
    store = cast(SqliteStore, open_store(f"sqlite:///{path}"))
    sent_rules = 0

    def damage(sent: str) -> None:
        nonlocal sent_rules
        if sent.strip().startswith("SELECT id FROM jobs WHERE id NOT IN"):
            sent_rules += 1
            change(path, "DELETE FROM job_payloads WHERE job_id = 3")

    thread_connection(store).set_trace_callback(damage)

    assert store.check() == []
    assert sent_rules == 1
    thread_connection(store).set_trace_callback(None)
    assert store.check() == ["1 jobs without a payload: 3"]
    store.close()


@pytest.mark.parametrize("volume", ["local", "network"])
def test_a_check_while_others_write_finds_nothing(tmp_path: Path, volume: str) -> None:
    url = f"sqlite:///{tmp_path}/queuelog.db?volume={volume}"
    store = cast(SqliteStore, open_store(url))
    found: list[str] = []
    looks = 0

    with writers(url) as acknowledged:
        while looks < 5 or sum(counter.value for counter in acknowledged) < 100:
            looks += any(counter.value for counter in acknowledged)
            found += until_free(store.check)
            until_free(partial(store.purge, NOON + 1, 1))

    assert found == []
    store.close()
