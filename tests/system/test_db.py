"""`queuelog db`: a backup and a check of the file, while a server goes on with it."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from queuelog_core.identity import Role
from tests.support.servers import make_key, queuelog, serving


def db(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return queuelog(folder, "db", *arguments)


def test_a_backup_of_a_served_queue_can_be_served_itself(tmp_path: Path) -> None:
    served, restored = tmp_path / "served", tmp_path / "restored"
    key = make_key(served, "shop", Role.ADMIN)
    with serving(served) as server:
        job = server.enqueue(key, type="email", payload={"n": 1})

        made = db(served, "backup", "monday.db")
        checked = db(served, "check")

        later = server.enqueue(key, type="email")
    key = make_key(restored, "shop", Role.ADMIN)
    (served / "monday.db").rename(restored / ".queuelog" / "queuelog.db")
    with serving(restored) as server:
        assert server.job(key, job["id"])["payload"] == {"n": 1}
        assert server.call("GET", f"/jobs/{later['id']}", key).status == 404
    assert (made.returncode, made.stdout) == (0, "monday.db\n")
    assert (checked.returncode, checked.stdout) == (0, "ok\n")


def test_a_backup_tells_a_script_where_it_is_and_how_large(tmp_path: Path) -> None:
    with serving(tmp_path):
        made = db(tmp_path, "backup", "monday.db", "--json")

    size = (tmp_path / "monday.db").stat().st_size
    assert json.loads(made.stdout) == {"path": "monday.db", "bytes": size}
    assert made.stderr == ""


def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    with serving(tmp_path):
        (tmp_path / "monday.db").write_text("dear")

        refused = db(tmp_path, "backup", "monday.db")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "error: monday.db exists: name a new file\n"
    assert (tmp_path / "monday.db").read_text() == "dear"


def test_a_backup_into_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with serving(tmp_path):
        refused = db(tmp_path, "backup", "nowhere/monday.db")

    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "nowhere" in refused.stderr


def test_the_commands_make_no_file_where_there_is_none(tmp_path: Path) -> None:
    make_key(tmp_path, "shop", Role.ADMIN)

    for arguments in (["check"], ["backup", "monday.db"]):
        refused = db(tmp_path, *arguments)

        assert refused.returncode == 1
        assert refused.stderr.endswith("queuelog.db does not exist\n")
    assert not (tmp_path / ".queuelog" / "queuelog.db").exists()
    assert not (tmp_path / "monday.db").exists()


def test_a_check_tells_each_fault_and_ends_with_one(tmp_path: Path) -> None:
    key = make_key(tmp_path, "shop", Role.ADMIN)
    with serving(tmp_path) as server:
        server.enqueue(key, type="email")
    with closing(sqlite3.connect(tmp_path / ".queuelog" / "queuelog.db")) as connection:
        connection.execute("DELETE FROM job_payloads")
        connection.commit()

    told = db(tmp_path, "check")
    as_json = db(tmp_path, "check", "--json")

    assert (told.returncode, told.stdout) == (1, "1 jobs without a payload: 1\n")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout) == {"ok": False, "faults": ["1 jobs without a payload: 1"]}


def test_a_purge_deletes_what_finished_long_ago_in_the_statuses_named(tmp_path: Path) -> None:
    key = make_key(tmp_path, "shop", Role.ADMIN)
    with serving(tmp_path, "--no-upkeep") as server:
        old, new, waiting = (server.enqueue(key, type="email")["id"] for _ in range(3))
        for job_id in (old, new):
            assert server.call("POST", f"/jobs/{job_id}/cancel", key).status == 200
        with closing(sqlite3.connect(tmp_path / ".queuelog" / "queuelog.db")) as connection:
            connection.execute("UPDATE jobs SET finished_at = 1 WHERE id = ?", (old,))
            connection.commit()

        other = db(tmp_path, "purge", "--older-than", "1d", "--status", "failed", "--yes")
        asked = db(tmp_path, "purge", "--older-than", "1d", "--status", "cancelled")
        kept = server.call("GET", f"/jobs/{old}", key).status
        purged = db(tmp_path, "purge", "--older-than", "1d", "--status", "cancelled", "--yes")

        left = [server.call("GET", f"/jobs/{n}", key).status for n in (old, new, waiting)]
    assert (other.returncode, other.stdout) == (0, "0\n")
    assert (asked.returncode, asked.stdout, kept) == (2, "", 200)
    assert "--yes" in asked.stderr
    assert (purged.returncode, purged.stdout) == (0, "1\n")
    assert left == [404, 200, 200]


def test_a_backup_is_put_back_and_the_old_file_lies_aside(tmp_path: Path) -> None:
    key = make_key(tmp_path, "shop", Role.ADMIN)
    with serving(tmp_path) as server:
        job = server.enqueue(key, type="email")
        db(tmp_path, "backup", "monday.db")
        later = server.enqueue(key, type="email")

    unasked = db(tmp_path, "restore", "monday.db")
    restored = db(tmp_path, "restore", "monday.db", "--yes")

    assert (unasked.returncode, unasked.stdout) == (2, "")
    aside = Path(restored.stdout.strip())
    assert aside.name.startswith("queuelog.db.before-")
    assert aside.exists()
    with serving(tmp_path) as server:
        assert server.job(key, job["id"])["status"] == "pending"
        assert server.call("GET", f"/jobs/{later['id']}", key).status == 404


def test_what_is_no_backup_is_not_put_in_the_place_of_the_file(tmp_path: Path) -> None:
    with serving(tmp_path):
        (tmp_path / "notes.db").write_text("no database")

        refused = db(tmp_path, "restore", "notes.db", "--yes")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("error: notes.db is no backup: ")
