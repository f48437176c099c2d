"""Clients that others generate from openapi.json: they compile, and a job runs through them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.http import ROOT
from tests.support.servers import make_key, serving

HERE = Path(__file__).parent
PYTHON_PROGRAM = HERE / "generated_python.py"
TYPESCRIPT_PROGRAM = HERE / "generated_typescript.mts"
TYPESCRIPT = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
COMPILE = [
    *("node", str(TYPESCRIPT), "--strict", "--skipLibCheck"),
    *("--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"),
]
# What openapi-fetch lets pass is left out: an unknown field beside those that are needed.
WRONG = [
    ("type: 'email'", "kind: 'email'", "'kind' does not exist in type"),
    ("priority: 'high'", "priority: 30", "Type 'number' is not assignable to type 'string'"),
    ("done.data.id", "done.data.key", "Property 'key' does not exist"),
    ("'/jobs/claim'", "'/jobs/claims'", "Argument of type '\"/jobs/claims\"'"),
]


def run(
    *command: str | Path, folder: Path, python_path: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """The generators call ruff, which lies beside the interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(python_path or "")}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def python_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the generated package."""
    folder = tmp_path_factory.mktemp("python")
    target = ["--output-path", str(folder / "generated_queuelog"), "--meta", "none"]
    generate = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"]
    done = run(*generate, "--path", ROOT / "openapi.json", *target, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the generated types, and the packages of package.json."""
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    generator = folder / "node_modules" / ".bin" / "openapi-typescript"
    done = run(generator, ROOT / "openapi.json", "-o", "schema.mts", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def assert_it_completes_a_job(
    *program: str | Path, folder: Path, python_path: Path | None = None
) -> None:
    with serving(folder) as server:
        keys = [make_key(folder, role.value, role) for role in (Role.PRODUCER, Role.WORKER)]
        admin = make_key(folder, "admin", Role.ADMIN)

        done = run(*program, server.url, *keys, folder=folder, python_path=python_path)

        assert (done.returncode, done.stderr) == (0, "")
        job = server.job(admin, int(done.stdout))
    assert (job["status"], job["result"]) == ("completed", {"sent": True})
    assert (job["priority"], job["worker_id"]) == ("high", "worker")


def test_a_job_runs_through_a_generated_python_client(python_client: Path, tmp_path: Path) -> None:
    assert_it_completes_a_job(
        sys.executable, PYTHON_PROGRAM, folder=tmp_path, python_path=python_client
    )


def test_a_job_runs_through_a_generated_typescript_client(types: Path, tmp_path: Path) -> None:
    (types / "right.mts").write_text(TYPESCRIPT_PROGRAM.read_text("utf-8"), "utf-8")

    compiled = run(*COMPILE, "right.mts", folder=types)

    assert compiled.stdout == ""
    assert_it_completes_a_job("node", types / "right.mjs", folder=tmp_path)


def test_a_typescript_program_that_is_wrong_does_not_compile(types: Path) -> None:
    program = TYPESCRIPT_PROGRAM.read_text("utf-8")
    names = [f"wrong-{number}.mts" for number in range(len(WRONG))]
    for name, (right, wrong, _) in zip(names, WRONG, strict=True):
        assert right in program
        (types / name).write_text(program.replace(right, wrong), "utf-8")

    compiled = run(*COMPILE, "--noEmit", *names, folder=types)

    for name, (_, _, complaint) in zip(names, WRONG, strict=True):
        faults = [line for line in compiled.stdout.splitlines() if line.startswith(name)]
        assert any(complaint in line for line in faults), compiled.stdout
