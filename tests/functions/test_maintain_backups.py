"""The nightly backup of a deployment: whole, kept for a week, and told when it cannot be made."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from functions import maintain as function
from queuelog_core import backups as backing_up
from queuelog_core.config import load_config, load_maintain_config
from queuelog_core.errors import StoreUnavailable
from queuelog_core.queue import Queue
from queuelog_core.stores.operators import open_file
from tests.support.factories import admin, new_job
from tests.support.http import failing

BACKUP = {"backup": True}


@pytest.fixture
def queue(deployed_queue: Queue) -> Queue:
    """The queue that the function copies, with five jobs."""
    for _ in range(5):
        deployed_queue.enqueue(admin(), new_job("email"))
    return deployed_queue


def backups() -> list[Path]:
    return sorted(load_maintain_config().backups.iterdir())


def test_a_backup_is_a_whole_file_that_can_be_opened(queue: Queue) -> None:
    done = function.handler(BACKUP, None)

    (made,) = backups()
    assert done == {"ok": True, "backup": made.name}
    copy = open_file(f"sqlite:///{made}")
    try:
        assert list(copy.check()) == []
    finally:
        copy.close()
    assert jobs_in(made) == 5
    assert queue.store.get(2) is not None


def test_a_backup_is_not_for_the_eyes_of_others(queue: Queue) -> None:
    function.handler(BACKUP, None)

    (made,) = backups()
    assert made.parent.stat().st_mode & 0o077 == 0


def test_the_seven_newest_backups_are_kept_and_other_files_left_alone(
    queue: Queue, clock: Any
) -> None:
    made = []
    for _ in range(9):
        made.append(function.handler(BACKUP, None)["backup"])
        clock.advance(86_400)
        if len(made) == 1:
            (backups()[0].parent / "notes.txt").write_text("mine")

    assert [path.name for path in backups()] == ["notes.txt", *made[2:]]


@pytest.mark.parametrize("fault", ["a file in its place", "a folder that nobody may make"])
def test_a_backup_that_cannot_be_written_is_told_as_not_ok(
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fault: str,
) -> None:
    (tmp_path / "taken").write_text("")
    below = "taken" if fault == "a file in its place" else "taken/backups"
    monkeypatch.setenv("QUEUELOG_BACKUPS", str(tmp_path / below))

    assert function.handler(BACKUP, None) == {"ok": False}

    (record,) = caplog.records
    assert str(tmp_path / below) in vars(record)["fields"]["cause"]


def test_a_backup_that_fails_takes_none_of_the_older_ones_away(
    queue: Queue, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(7):
        function.handler(BACKUP, None)
        clock.advance(86_400)
    before = backups()
    fault = StoreUnavailable("disk full")
    broken: Any = open_file(load_config().store)
    monkeypatch.setattr(backing_up, "open_file", lambda _url: failing(broken, fault, "backup"))

    assert function.handler(BACKUP, None) == {"ok": False}
    assert backups() == before


def test_a_file_that_would_keep_writers_waiting_is_not_copied(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(backing_up, "BYTES_MAX", 1000)

    assert function.handler(BACKUP, None) == {"ok": False}

    (record,) = caplog.records
    assert "the file is over 1000 bytes" in vars(record)["fields"]["cause"]
    assert backups() == []


def test_what_a_function_that_was_cut_off_left_is_removed(queue: Queue) -> None:
    function.handler(BACKUP, None)
    (whole,) = backups()
    draft = whole.with_name("queuelog-20260101T000000.000Z.db.new")
    draft.write_text("half")
    whole.unlink()

    assert function.handler(BACKUP, None)["ok"] is True
    assert not draft.exists()


def test_a_backup_counts_as_one_for_the_alarm(
    queue: Queue, capfd: pytest.CaptureFixture[str]
) -> None:
    function.handler(BACKUP, None)

    (line,) = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "_aws" in line]
    assert (line["Backups"], line["Stage"]) == (1, "prod")


def test_a_backup_is_listed_and_put_back_and_the_old_file_lies_aside(queue: Queue) -> None:
    made = function.handler(BACKUP, None)["backup"]
    queue.enqueue(admin(), new_job("email"))

    listed = function.handler({"list_backups": True}, None)
    restored = function.handler({"restore": made}, None)

    assert listed == {"ok": True, "backups": [made]}
    assert restored["ok"] is True
    path = Path(load_config().store.removeprefix("sqlite:///"))
    assert jobs_in(path) == 5
    assert jobs_in(path.with_name(restored["aside"])) == 6
    with pytest.raises(StoreUnavailable, match="replaced"):
        queue.enqueue(admin(), new_job("email"))


@pytest.mark.parametrize(
    "name", ["../queuelog.db", "", 7, None, "queuelog-20260101T000000.000Z.db"]
)
def test_only_a_backup_that_is_listed_is_put_back(
    queue: Queue, name: Any, caplog: pytest.LogCaptureFixture
) -> None:
    function.handler(BACKUP, None)
    caplog.clear()

    assert function.handler({"restore": name}, None) == {"ok": False}

    (record,) = caplog.records
    assert "there is no backup of this name" in vars(record)["fields"]["cause"]
    queue.enqueue(admin(), new_job("email"))


@pytest.mark.parametrize("event", [BACKUP, {"list_backups": True}, {"restore": "any"}])
def test_a_table_is_backed_up_by_dynamodb_and_asking_for_more_says_so(
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    event: dict[str, Any],
) -> None:
    monkeypatch.setenv("QUEUELOG_STORE", "dynamodb://queuelog-prod?region=eu-west-1")

    assert function.handler(event, None) == {"ok": False}

    (record,) = caplog.records
    assert "DynamoDB backs the table up by itself" in vars(record)["fields"]["cause"]
    assert not load_maintain_config().backups.exists()


def jobs_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        number: int = connection.execute("SELECT count(*) FROM jobs").fetchone()[0]
        return number
