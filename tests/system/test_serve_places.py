"""Where a server listens and where it keeps its things, beyond the defaults."""

import os
import re
import sqlite3
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.servers import make_key, queuelog, serving

EMAIL_ONLY = "[types.email]\n\n[types.report]\n"


def test_a_host_that_is_a_name_is_served(tmp_path: Path) -> None:
    """It may stand for several addresses, of which one is enough."""
    with serving(tmp_path, "--host", "localhost") as server:
        assert server.call("GET", "/health").status == 200


def test_a_command_leaves_the_default_folder_alone_when_everything_lies_elsewhere(
    tmp_path: Path,
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()

    made = queuelog(
        work,
        *("keys", "create", "shop", "--role", "producer"),
        QUEUELOG_KEYS=f"file:{home}/keys.json",
    )

    assert made.returncode == 0, made.stderr
    assert [file.name for file in home.iterdir()] == ["keys.json"]
    assert list(work.iterdir()) == []


def test_a_store_that_others_hold_stops_the_start_with_the_reason(tmp_path: Path) -> None:
    make_key(tmp_path, "shop", Role.PRODUCER)
    with serving(tmp_path):
        """Makes the file."""
    holder = sqlite3.connect(tmp_path / ".queuelog" / "queuelog.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    refused = queuelog(tmp_path, "serve", "--port", "0")

    holder.close()
    assert refused.returncode == 1
    assert "others held the file too long" in refused.stderr.splitlines()[-1]


def test_the_demo_runs_what_the_registry_has_of_its_types(tmp_path: Path) -> None:
    """A type that was taken out of the file must not keep the others from running."""
    (tmp_path / "types.toml").write_text(EMAIL_ONLY)
    settings = {"QUEUELOG_JOB_TYPES": str(tmp_path / "types.toml")}

    with serving(tmp_path, "--demo", **settings) as server:
        key = server.demo_keys()["PRODUCER_KEY"]
        job = server.enqueue(key, type="email", payload={"to": "ada@example.com"})
        done = server.job_once(key, job["id"], "completed", "failed")

    assert done["status"] == "completed"


@pytest.mark.parametrize("setting", ["QUEUELOG_LOG_LEVEL", "QUEUELOG_STORE", "QUEUELOG_KEYS"])
def test_an_empty_setting_is_as_none(tmp_path: Path, setting: str) -> None:
    with serving(tmp_path, **{setting: ""}) as server:
        assert server.call("GET", "/health").status == 200


def test_the_files_of_a_server_are_for_its_owner_alone(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as server:
        assert server.call("GET", "/health").status == 200
        home = tmp_path / ".queuelog"
        kept = [home, *(file for file in home.iterdir() if re.search("json|env|db", file.name))]
        modes = {file.name: oct(file.stat().st_mode & 0o077) for file in kept}

    assert modes == dict.fromkeys(modes, "0o0")
    assert len(modes) >= 5
    assert home.stat().st_uid == os.getuid()
