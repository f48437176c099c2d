"""Counts that do not depend on the machine: steps, statements, plans, bytes, pages."""

import sqlite3
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.job import Priority
from queuelog_core.stores import sqlite_lists, sqlite_rows, sqlite_stats
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.backlogs import BACKLOGS, TYPES_CLAIMED, fill, steps, thread_connection
from tests.support.factories import pending_job
from tests.support.stores import claim, claim_one, complete, fail

FEW, MANY = 1_000, 200_000
STEPS_MAX = 1_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "queuelog.db")
    yield store
    store.close()


def steps_to_claim(path: Path, rows: int, backlog: dict[str, Any]) -> int:
    store = SqliteStore(path)
    fill(path, rows, **backlog)
    # What is claimed is the newest row of its lane, behind the whole backlog.
    store.insert_many([pending_job(type=name, priority=Priority.LOW) for name in TYPES_CLAIMED])
    count = steps(store, lambda: claim(store, types=TYPES_CLAIMED))
    store.close()
    return count


@pytest.mark.parametrize("backlog", BACKLOGS.values(), ids=BACKLOGS.keys())
def test_a_claim_takes_as_many_steps_in_a_large_backlog_as_in_a_small_one(
    backlog: dict[str, Any], tmp_path: Path
) -> None:
    few = steps_to_claim(tmp_path / "few.db", FEW, backlog)
    many = steps_to_claim(tmp_path / "many.db", MANY, backlog)

    assert few <= STEPS_MAX
    assert many <= 1.2 * few


def statements(store: SqliteStore, call: Callable[[], object]) -> list[str]:
    """First words of the statements that a call sends; a trigger repeats the text of its cause."""
    sent: list[str] = []
    connection = thread_connection(store)
    connection.set_trace_callback(sent.append)
    call()
    connection.set_trace_callback(None)
    return [text.split()[0] for before, text in pairwise(["", *sent]) if text != before]


def test_a_claim_that_finds_a_job_looks_once_and_commits_once(
    store: SqliteStore,
) -> None:
    store.insert(pending_job(priority=Priority.CRITICAL))

    sent = statements(store, lambda: claim(store))

    peek, job = ["SELECT"], ["SELECT"]
    assert sent == [*peek, "BEGIN", *job, "UPDATE", "COMMIT"]


def test_a_claim_of_ten_looks_over_its_lanes_only_twice(store: SqliteStore) -> None:
    store.insert_many([pending_job(priority=Priority.CRITICAL) for _ in range(10)])

    sent = statements(store, lambda: claim(store, limit=10))

    job = ["SELECT", "UPDATE"]
    assert sent == ["SELECT", "BEGIN", *job, "SELECT", *job * 9, "COMMIT"]


def test_an_empty_claim_takes_no_lock(store: SqliteStore) -> None:
    sent = statements(store, lambda: claim(store))

    assert sent == ["SELECT"]


def test_other_verbs_send_few_statements(store: SqliteStore) -> None:
    enqueued = statements(store, lambda: store.insert(pending_job()))
    job = claim_one(store)
    failed = statements(store, lambda: fail(store, job, error="text"))
    job = claim_one(store)
    completed = statements(store, lambda: complete(store, job, result="[1]"))
    replayed = statements(store, lambda: complete(store, job, result="[1]"))

    assert enqueued == ["BEGIN", "INSERT", "INSERT", "COMMIT"]
    assert failed == ["BEGIN", "SELECT", "UPDATE", "INSERT", "COMMIT"]
    assert completed == ["BEGIN", "SELECT", "UPDATE", "INSERT", "COMMIT"]
    assert replayed == ["BEGIN", "SELECT", "COMMIT"]


READS = {
    name: text
    for module in (sqlite_rows, sqlite_lists, sqlite_stats)
    for name, text in vars(module).items()
    if isinstance(text, str) and text.strip().startswith(("SELECT", "UPDATE", "DELETE"))
}
SMALL_TABLES = {"COUNTERS": "SCAN counters"}
SHORT_SORTS = {"PEEK", "DUE_HEADS", "FIND_CLAIMED"}
"""What they sort is a head per lane, or the jobs of one claim."""


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    bound = dict.fromkeys(("types", "priority", "now", "most", "type", "per_type"), 0)
    bound |= dict.fromkeys(("created_at", "id", "oldest", "newest", "producer"), 0)
    bound |= dict.fromkeys(("status", "error_code", "created_after", "created_before"), 0)
    values: Any = [0] * statement.count("?") if "?" in statement else bound
    rows = connection.execute("EXPLAIN QUERY PLAN " + statement, values).fetchall()
    return [row[3] for row in rows]


@pytest.mark.parametrize("analyzed", [False, True], ids=["before ANALYZE", "after ANALYZE"])
def test_no_statement_scans_or_sorts_a_table(
    store: SqliteStore, tmp_path: Path, analyzed: bool
) -> None:
    fill(tmp_path / "queuelog.db", FEW, **BACKLOGS["twenty types"])
    connection = thread_connection(store)
    if analyzed:
        connection.execute("ANALYZE")

    assert len(READS) > 15
    for name, text in READS.items():
        for step in plan(connection, text):
            allowed = step == SMALL_TABLES.get(name) or "VIRTUAL TABLE" in step
            # A subquery of a counting statement holds at most a lane's thousand rows.
            counted = step.startswith("SCAN (subquery") or step == "SCAN CONSTANT ROW"
            assert allowed or counted or "SCAN" not in step, (name, step)
            assert name in SHORT_SORTS or "TEMP B-TREE" not in step, (name, step)


def test_a_small_job_takes_at_most_five_hundred_bytes_on_disk(
    store: SqliteStore, tmp_path: Path
) -> None:
    rows = 5_000
    before = (tmp_path / "queuelog.db").stat().st_size
    payload = '{"to":"ada@example.com","template":"welcome"}'
    store.insert_many([pending_job(payload=payload) for _ in range(rows)])
    for _ in range(rows // 100):
        for job in claim(store, limit=100):
            complete(store, job)
    thread_connection(store).execute("PRAGMA wal_checkpoint(TRUNCATE)")

    size = (tmp_path / "queuelog.db").stat().st_size - before

    assert size / rows <= 500


def test_claiming_a_job_of_sixty_four_kibibytes_writes_at_most_six_pages(
    store: SqliteStore, tmp_path: Path
) -> None:
    store.insert_many([pending_job(payload='{"a":"' + "x" * 65_000 + '"}') for _ in range(20)])
    connection = thread_connection(store)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    claim_one(store)

    wal_header_bytes, frame_bytes = 32, 24 + 4096
    size = (tmp_path / "queuelog.db-wal").stat().st_size
    assert (size - wal_header_bytes) / frame_bytes <= 6
    assert job_is_whole(store)


def job_is_whole(store: SqliteStore) -> bool:
    job = store.get(1)
    return job is not None and job.attempt == 1 and len(job.payload) > 65_000
