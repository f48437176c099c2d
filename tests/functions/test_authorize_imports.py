"""functions/authorize.py in a process of its own: what it loads, and what it writes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.clock import SystemClock
from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from tests.functions.events import authorizer_event
from tests.support.http import ROOT
from tests.support.servers import environment

PROGRAM = """
import sys
before = {*sys.modules}
import json
from functions import authorize
event = json.load(sys.stdin)
said = {}
for name in ("reader", "producer", "worker", "admin"):
    try:
        said[name] = getattr(authorize, name)(event, None)
    except Exception as error:
        said[name] = type(error).__name__
modules = {*sys.modules} - before
packages = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
print(json.dumps({"said": said, "packages": sorted(packages), "modules": sorted(modules)}))
"""


def run(event: Any, keys: str) -> tuple[Any, str]:
    """What the authorizers said and loaded, and the log."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment(QUEUELOG_KEYS=keys),
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def key(tmp_path: Path) -> str:
    registry = FileRegistry(tmp_path / "keys.json", SystemClock())
    return registry.create("mailer", Role.WORKER, priority_max=Priority.LOW)[1]


def test_an_authorizer_starts_often_and_loads_little(tmp_path: Path, key: str) -> None:
    done, log = run(authorizer_event(key), f"file:{tmp_path}/keys.json")

    passed = {name: said["isAuthorized"] for name, said in done["said"].items()}
    assert passed == {"reader": True, "producer": False, "worker": True, "admin": False}
    assert {*done["packages"]} == {"functions", "queuelog_core"}
    assert {"sqlite3", "queuelog_core.stores", "queuelog_core.http.app"}.isdisjoint(done["modules"])
    assert log == ""


def test_what_an_authorizer_writes_is_json_and_holds_no_key(tmp_path: Path, key: str) -> None:
    (tmp_path / "keys.json").write_text('{"version": 1, "keys": "hunter2"}', "utf-8")

    done, log = run(authorizer_event(key), f"file:{tmp_path}/keys.json")

    assert {*done["said"].values()} == {"ConfigError"}
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines] == ["authorizer-failed"] * 4
    assert [line["authorizer"] for line in lines] == ["reader", "producer", "worker", "admin"]
    assert not [secret for secret in (*key.split("_")[2:], "hunter2") if secret in log]
