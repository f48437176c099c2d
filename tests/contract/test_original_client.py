"""The original's client, told only where to send its requests and with which keys."""

import subprocess
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.servers import Server, make_key, serving

SCRIPT = Path(__file__).parent / "original_client.mjs"
CALLERS = [("shop", Role.PRODUCER), ("mailer-1", Role.WORKER), ("root", Role.ADMIN)]
TYPES_WITHOUT_BACKOFF = "[types.email]\n[types.pdf]\n[types.sync]\n"


def run_client(server: Server, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["node", SCRIPT, server.url, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "job_types.toml").write_text(TYPES_WITHOUT_BACKOFF, "utf-8")
    return {"QUEUELOG_JOB_TYPES": "job_types.toml"}


def test_a_client_of_the_original_runs_to_the_end_with_a_key_per_role(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with serving(tmp_path, **settings) as server:
        keys = [make_key(tmp_path, name, role) for name, role in CALLERS]

        done = run_client(server, *keys, "mailer-1")

    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == "the original client ran to its end\n"


def test_a_client_of_the_original_runs_to_the_end_with_one_admin_key(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with serving(tmp_path, **settings) as server:
        key = make_key(tmp_path, "everything", Role.ADMIN)

        done = run_client(server, key, key, key, "everything")

    assert done.stderr == ""
    assert done.returncode == 0


def test_the_scripted_client_names_the_first_difference(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with serving(tmp_path, **settings) as server:
        keys = [make_key(tmp_path, name, role) for name, role in CALLERS]

        done = run_client(server, *keys, "somebody-else")

    assert done.returncode == 1
    assert done.stderr == 'claim, worker_id: wanted "somebody-else", got "mailer-1"\n'
