"""Fixtures for the tests of the command and of the wheel."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.checkout import copy_of_work_tree
from tests.support.copy_place import Place
from tests.support.dynamodb import Engine
from tests.support.http import Api
from tests.support.installing import installed, pip
from tests.support.servers import make_key, serving
from tests.system.cli_scene import STEERING, Here, Screen, Shell

WORKER = """
from queuelog_core.worker import Worker

worker = Worker()

@worker.handler("sync")
def sync(job):
    pass
"""


@pytest.fixture
def here(api: Api, monkeypatch: pytest.MonkeyPatch) -> Here:
    return Here(api, monkeypatch)


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "own.py").write_text(WORKER)
    key = make_key(folder, "root", Role.ADMIN)
    with serving(folder, "--no-upkeep") as server:
        server.enqueue(key, type="email", payload={"text": STEERING})
        job = server.call("POST", "/jobs/claim", key, {}).json
        told = {"attempt": job["attempt"], "error": STEERING, "retryable": False}
        assert server.call("POST", "/jobs/1/fail", key, told).status == 200
        yield Screen(Shell(server, {"ADMIN_KEY": key}))


@pytest.fixture
def place(tmp_path: Path, dynalite_engine: Engine) -> Place:
    return Place(tmp_path, dynalite_engine)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work tree with packages that must stay out of the wheel."""
    folder = copy_of_work_tree(tmp_path_factory.mktemp("checkout"))
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").touch()
    return folder


@pytest.fixture(scope="session")
def wheel(checkout: Path) -> Path:
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", checkout / "dist", checkout)
    [wheel] = (checkout / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("plain"), str(wheel))
