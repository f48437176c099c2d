"""`queuelog serve --demo`: what the banner promises, and what the worker makes of real jobs."""

import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from tests.support.servers import Server, call, eventually, queuelog, serving

LIST = ("keys", "list", "--json")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One demo for the tests that only enqueue jobs of their own."""
    with serving(tmp_path_factory.mktemp("demo"), "--demo") as server:
        yield server


def pasted(command: str, folder: Path) -> Any:
    """What a command of the banner prints, run by a shell as a reader would run it."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=30, check=True
    )
    return json.loads(done.stdout)


def run(demo: Server, job_type: str, payload: Any, **fields: Any) -> Any:
    """A job of the demo's producer, as an admin sees it once it has ended."""
    keys = demo.demo_keys()
    job = demo.enqueue(keys["PRODUCER_KEY"], type=job_type, payload=payload, **fields)
    return demo.job_once(keys["ADMIN_KEY"], job["id"], "completed", "failed")


def test_the_first_curl_of_the_banner_makes_a_job_that_the_worker_completes(demo: Server) -> None:
    curls = re.findall(r"^  (curl .+)$", demo.out, re.MULTILINE)

    job = pasted(curls[0], demo.folder)

    done = demo.job_once(demo.demo_keys()["PRODUCER_KEY"], job["id"], "completed", "failed")
    assert done["status"] == "completed"
    written = demo.folder / done["result"]["file"]
    assert written.parent == demo.folder / ".queuelog" / "outbox"
    message = message_from_bytes(written.read_bytes(), EmailMessage, policy=SMTP)
    assert (message["To"], message["Subject"]) == ("ada@example.com", "Hello")
    assert message.get_content().strip() == "It works."


def test_the_other_curls_of_the_banner_show_the_job_and_the_numbers(demo: Server) -> None:
    _, newest, numbers = re.findall(r"^  (curl .+)$", demo.out, re.MULTILINE)
    ended = run(demo, "email", {"to": "ada@example.com"})

    listed = pasted(newest, demo.folder)
    stats = pasted(numbers, demo.folder)

    assert [job["id"] for job in listed["jobs"]] == [ended["id"]]
    assert listed["jobs"][0]["status"] == "completed"
    assert stats["types"]["email"]["completed"] >= 1


def test_the_banner_shows_the_keys_of_the_file_that_it_names(demo: Server) -> None:
    keys = demo.demo_keys()

    shown = dict(re.findall(r"^  (producer|worker|admin)  +(ql_\S+)$", demo.out, re.MULTILINE))

    assert ".queuelog/demo.env" in demo.out
    assert keys["QUEUELOG_URL"] == demo.url
    assert shown == {role: keys[f"{role.upper()}_KEY"] for role in ("producer", "worker", "admin")}
    for role, key in shown.items():
        assert demo.call("GET", "/whoami", key).json["role"] == role


def test_a_pdf_job_with_characters_outside_the_font_makes_a_readable_file(demo: Server) -> None:
    ended = run(demo, "pdf", {"title": "Rechnung für 日本", "text": "Größe: 5 €\n😀\n" * 60})

    assert ended["status"] == "completed"
    pages = PdfReader(demo.folder / ended["result"]["file"]).pages
    assert len(pages) == ended["result"]["pages"] == 3
    lines = pages[0].extract_text().splitlines()
    assert lines[:4] == ["Rechnung für ??", "Größe: 5 €", "?", "Größe: 5 €"]


def test_a_sync_job_copies_a_tree_inside_the_sync_folder(demo: Server) -> None:
    folder = demo.folder / ".queuelog" / "sync"
    (folder / "photos" / "2026").mkdir(parents=True)
    (folder / "photos" / "2026" / "a.txt").write_text("Ada", "utf-8")
    (folder / "photos" / "b.txt").write_text("Grace", "utf-8")

    ended = run(demo, "sync", {"source": "photos", "target": "backup/photos"})

    assert ended["result"] == {"files": 2, "bytes": 8}
    copy = folder / "backup" / "photos"
    assert (copy / "2026" / "a.txt").read_text("utf-8") == "Ada"
    assert (copy / "b.txt").read_text("utf-8") == "Grace"


def test_a_sync_job_with_a_path_that_leads_outside_fails(demo: Server) -> None:
    source = demo.folder / ".queuelog" / "sync" / "inside"
    source.mkdir(parents=True, exist_ok=True)

    ended = run(demo, "sync", {"source": "inside", "target": "../outbox"}, max_retries=0)

    assert ended["status"] == "failed"
    assert ended["error_code"] == "value_error"
    assert ended["error"] == "ValueError: the path leads outside the sync folder"


def test_a_job_that_its_handler_cannot_run_waits_for_its_next_try(demo: Server) -> None:
    keys = demo.demo_keys()

    job = demo.enqueue(keys["PRODUCER_KEY"], type="sync", payload={"source": "no", "target": "x"})

    def failed_once() -> Any:
        seen = demo.job(keys["ADMIN_KEY"], job["id"])
        return seen if seen["status"] == "pending" and seen["retry_count"] == 1 else None

    waiting = eventually(failed_once, "the job failed once")
    assert waiting["error_code"] == "file_not_found_error"
    assert waiting["run_at"] > waiting["updated_at"]


def test_keys_and_addresses_are_kept_in_files_that_only_their_owner_can_read(demo: Server) -> None:
    home = demo.folder / ".queuelog"

    assert mode(home) == 0o700
    assert mode(home / "demo.env") == 0o600
    assert mode(home / "keys.json") == 0o600


def test_files_of_keys_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with serving(tmp_path, "--demo"):
            pass
        queuelog(tmp_path, "keys", "create", "shop", "--role", "producer")
    finally:
        os.umask(before)

    home = tmp_path / ".queuelog"
    loose = [
        path.name for path in [home, home / "demo.env", home / "keys.json"] if mode(path) & 0o77
    ]
    assert loose == []


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_second_start_keeps_the_data_and_the_keys(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as first:
        before = first.demo_keys()
        job = run(first, "email", {"to": "ada@example.com"})
        assert first.stop() == 0

    with serving(tmp_path, "--demo") as second:
        after = second.demo_keys()

        again = second.job(after["ADMIN_KEY"], job["id"])

    assert again == job
    assert {**after, "QUEUELOG_URL": ""} == {**before, "QUEUELOG_URL": ""}


def test_a_demo_key_that_was_revoked_is_made_anew_at_the_next_start(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as first:
        lost = first.demo_keys()["PRODUCER_KEY"]
    listed = [json.loads(line) for line in queuelog(tmp_path, *LIST).stdout.splitlines()]
    [record] = [record for record in listed if record["name"] == "demo-producer"]
    assert queuelog(tmp_path, "keys", "revoke", record["id"]).returncode == 0

    with serving(tmp_path, "--demo") as second:
        fresh = second.demo_keys()["PRODUCER_KEY"]
        answers = [call(second.url, "GET", "/whoami", key).status for key in (lost, fresh)]

    assert fresh != lost
    assert answers == [403, 200]
