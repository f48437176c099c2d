"""The wheel, as somebody else installs it: what is in it, what works without any extra, and
what an extra adds."""

import os
import re
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from queuelog_core import __version__
from queuelog_core.identity import Role
from tests.support.http import ROOT
from tests.support.installing import installed, run
from tests.support.servers import make_key, running, serving

EXTRAS = {
    "": {"click", "urllib3"},
    "cli": {"rich"},
    "server": {"flask", "serverless-wsgi", "waitress"},
    "aws": {"boto3", "flask", "serverless-wsgi"},
}
USERS_PROGRAM = """
import os

from queuelog_core.client import Client
from queuelog_core.worker import HeldJob, Worker

worker = Worker(Client(key=os.environ["WORKER_KEY"]))


@worker.handler("email", timeout=10)
def send(job: HeldJob) -> dict[str, str]:
    return {"to": str(job.payload["to"])}


with Client(key=os.environ["PRODUCER_KEY"]) as queue:
    job_id: int = queue.enqueue("email", {"to": "ada@example.com"}, priority="high").id
    assert worker.drain(30).completed == 1
    print(queue.get(job_id).status, queue.get(job_id).result)
"""
WRONG_PROGRAM = """
from queuelog_core.client import Client

status: int = Client().get(1).status
"""
WHAT_IS_LOADED = """
import sys
import queuelog_core.client, queuelog_core.worker
print(*sorted({name.partition(".")[0] for name in sys.modules} - BEFORE))
"""


def test_the_wheel_holds_all_of_the_package_and_nothing_else(checkout: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}

    package = checkout / "queuelog_core"
    assert names == {
        str(path.relative_to(checkout)) for path in package.rglob("*") if path.is_file()
    }
    assert {"queuelog_core/py.typed", "queuelog_core/stores/migrations/0001_jobs.sql"} <= names


def requirements_of(wheel: Path) -> list[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"queuelog-{__version__}.dist-info/METADATA")
    return [Requirement(line) for line in message_from_bytes(metadata).get_all("Requires-Dist", [])]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_wheel_asks_for_no_more_than_what_is_used(wheel: Path, extra: str) -> None:
    asked = {
        found.name
        for found in requirements_of(wheel)
        if found.marker is None or found.marker.evaluate({"extra": extra})
    }

    assert asked == EXTRAS[""] | EXTRAS[extra]


def test_what_the_wheel_asks_for_is_what_the_tests_run_with(wheel: Path) -> None:
    pinned = pins("requirements.txt")

    for asked in requirements_of(wheel):
        assert asked.specifier.contains(pinned[asked.name]), asked
    building = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
    assert building["requires"] == [f"setuptools=={pins('requirements-dev.txt')['setuptools']}"]


# The emulator's file is whole by itself: it wants other versions of some.
CONSTRAINED = [path for path in ROOT.glob("requirements*.txt") if "cloud" not in path.name]


@pytest.mark.parametrize("path", CONSTRAINED, ids=lambda path: path.name)
def test_every_pin_is_also_a_constraint(path: Path) -> None:
    assert pins(path.name).items() <= pins("constraints.txt").items()


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))


def test_without_extras_the_command_runs(plain: Path, tmp_path: Path) -> None:
    told = run([plain / "queuelog", "--help"], tmp_path)
    version = run([plain / "queuelog", "--version"], tmp_path)

    assert (told.returncode, told.stderr) == (0, "")
    assert "enqueue" in told.stdout
    assert version.stdout.split()[-1] == __version__


def test_the_client_and_the_worker_load_nothing_of_the_server_or_the_command(
    plain: Path, tmp_path: Path
) -> None:
    script = f"import sys; BEFORE = {{*sys.modules, *sys.stdlib_module_names}}\n{WHAT_IS_LOADED}"

    loaded = run([plain / "python", "-c", script], tmp_path)
    flask = run([plain / "python", "-c", "import flask"], tmp_path)

    assert loaded.stdout.split() == ["queuelog_core", "urllib3"], loaded.stderr
    assert "No module named 'flask'" in flask.stderr


def test_without_extras_a_program_enqueues_a_job_and_works_on_it(
    plain: Path, tmp_path: Path
) -> None:
    with serving(tmp_path / "server") as server:
        keys = {
            "PRODUCER_KEY": make_key(server.folder, "shop", Role.PRODUCER),
            "WORKER_KEY": make_key(server.folder, "mailer", Role.WORKER),
        }
        done = run(
            [plain / "python", "-c", USERS_PROGRAM], tmp_path, QUEUELOG_URL=server.url, **keys
        )

    assert done.stdout == "completed {'to': 'ada@example.com'}\n", done.stderr


def test_the_python_lines_of_the_readme_work_pasted_into_a_fresh_environment(
    plain: Path, tmp_path: Path
) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    produce, work = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "mail.py").write_text(work, "utf-8")
    with serving(tmp_path / "server", "--demo") as server:
        keys = server.demo_keys()
        at = {"QUEUELOG_URL": server.url}

        produced = run(
            [plain / "python", "-c", produce], tmp_path, QUEUELOG_API_KEY=keys["PRODUCER_KEY"], **at
        )
        worked = run(
            [plain / "queuelog", "work", "mail:worker", "--drain", "--budget", "5m"],
            tmp_path,
            QUEUELOG_API_KEY=keys["WORKER_KEY"],
            **at,
        )

    assert (produced.stdout, produced.stderr) == ("completed\n", "")
    assert (worked.returncode, worked.stdout) == (
        0,
        "completed=0 failed=0 released=0 lost=0\n",
    ), worked.stderr


def test_what_needs_an_extra_names_it(plain: Path, tmp_path: Path) -> None:
    done = run([plain / "queuelog", "serve", "--port", "0"], tmp_path)
    tested = run([plain / "python", "-c", "import queuelog_core.testing"], tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"error: .+\nhint: pip install 'queuelog\[server\]'\n", done.stderr), (
        done.stderr
    )
    assert "pip install 'queuelog[server]'" in tested.stderr.splitlines()[-1]


def test_with_the_server_extra_the_command_serves(
    wheel: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    commands = installed(tmp_path_factory.mktemp("server"), f"{wheel}[server]")
    key = make_key(tmp_path, "shop", Role.PRODUCER)
    types = str(ROOT / "infra" / "job_types.toml")
    env = {"PATH": os.environ["PATH"], "QUEUELOG_JOB_TYPES": types}

    with running([str(commands / "queuelog"), "serve", "--port", "0"], tmp_path, env) as server:
        job = server.wait_until_ready().enqueue(key, type="email")
    tested = run([commands / "python", "-c", "import queuelog_core.testing"], tmp_path)

    assert job["status"] == "pending"
    assert (tested.returncode, tested.stderr) == (0, "")


def test_a_type_checker_sees_the_types_of_what_is_installed(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(USERS_PROGRAM, "utf-8")
    (tmp_path / "wrong.py").write_text(WRONG_PROGRAM, "utf-8")
    checker = [sys.executable, "-m", "mypy", "--strict", "--python-executable"]

    done = run([*checker, str(plain / "python"), "right.py", "wrong.py"], tmp_path)

    assert done.stdout.splitlines()[:-1] == [
        "wrong.py:4: error: Incompatible types in assignment "
        '(expression has type "str", variable has type "int")  [assignment]'
    ]
