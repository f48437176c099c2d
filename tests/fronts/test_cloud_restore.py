"""Going back to a backup on a deployment, pasted block by block from docs/operations.md."""

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fronts.conftest import Deployed
from tests.fronts.front import Front
from tests.fronts.scene import Scene
from tests.support.aws_command import aws_command
from tests.support.cloud import STAGE, Cloud
from tests.support.http import ROOT

SECONDS = 60
NOT_THERE = "queuelog-20261130T033000.000Z.db"
_SECTION = re.compile(r"^## Back up and restore there\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)\n^```$", re.MULTILINE | re.DOTALL)
_STAMP = re.compile(r"\d{8}T\d{6}\.\d{3}Z")


class Operator:
    """Somebody with a terminal who pastes the blocks of the section, one after the other."""

    def __init__(self, emulator: Cloud, folder: Path, path: Path) -> None:
        (section,) = _SECTION.findall((ROOT / "docs" / "operations.md").read_text("utf-8"))
        first, *self._blocks = _BLOCK.findall(section)
        self._definitions = first[1].replace("queuelog-prod-", f"queuelog-{STAGE}-")
        self._emulator, self._folder = emulator, folder
        self._environment = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}

    def paste(self, **changes: str) -> Any:
        """The next block, with other words in the place of some. What it prints looks as the
        document shows right below, where it does."""
        kind, block = self._blocks.pop(0)
        assert kind == "sh"
        printed = self.type(block, **changes)
        if self._blocks and self._blocks[0][0] == "text":
            _, shown = self._blocks.pop(0)
            assert look(printed) == look(json.loads(shown))
        return printed

    def type(self, block: str, **changes: str) -> Any:
        """Run a block in a shell in which the first one of the section was pasted."""
        for old, new in changes.items():
            assert old in block
            block = block.replace(old, new)
        done = subprocess.run(
            ["sh", "-eu", "-c", f"{self._definitions}\n{block}"],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{block}\n{done.stderr}"
        return json.loads(done.stdout) if done.stdout else None

    def deploy(self) -> None:
        """The next block is `make deploy`, which in the emulator has the emulator's parameters."""
        assert self._blocks.pop(0) == ("sh", "make deploy STAGE=prod")
        self._emulator.deploy("--built")
        self._emulator.stop_schedules()

    @property
    def is_done(self) -> bool:
        return not self._blocks

    def concurrency(self) -> dict[str, int | None]:
        """What is reserved for each function."""
        with closing(self._emulator.client("lambda")) as client:
            names = [each["FunctionName"] for each in client.list_functions()["Functions"]]
            told = {name: client.get_function_concurrency(FunctionName=name) for name in names}
        prefix = f"queuelog-{STAGE}-"
        return {
            name.removeprefix(prefix): each.get("ReservedConcurrentExecutions")
            for name, each in told.items()
        }


def look(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without its instants, and without how many of a kind there are."""
    names = {key: each if isinstance(each, list) else [each] for key, each in answer.items()}
    return {key: {_STAMP.sub("…", str(name)) for name in each} for key, each in names.items()}


@pytest.fixture
def operator(deployed: Deployed, tmp_path: Path) -> Iterator[Operator]:
    with aws_command(tmp_path, deployed.cloud.client) as path:
        yield Operator(deployed.cloud, tmp_path, path)


def jobs_in(path: Path) -> set[int]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM jobs")}


def test_the_document_leads_back_to_a_backup(
    deployed: Deployed, cloud_front: Front, operator: Operator
) -> None:
    scene = Scene(cloud_front)
    delayed = scene.pending(delay_seconds=3600)
    held = scene.running(priority="critical")
    backup = operator.paste()["backup"]
    assert scene.call("POST", f"/jobs/{delayed['id']}/cancel", "producer").status == 200
    assert scene.report("complete", held).status == 200
    later = scene.pending(delay_seconds=3600, idempotency_key=backup)

    assert backup in operator.paste()["backups"]
    the_api_is_shut(scene, operator)
    nothing_is_put_back_that_is_not_there(deployed, operator)
    aside = operator.paste(**{NOT_THERE: backup})["aside"]

    assert later["id"] in jobs_in(deployed.cloud.folder / aside)
    assert later["id"] not in jobs_in(deployed.cloud.folder / "queuelog.db")
    a_function_of_before_says_so(scene, operator)
    operator.deploy()
    operator.paste()
    assert {each for each in operator.concurrency().values() if each is not None} == {1}
    operator.paste()
    assert set(operator.concurrency().values()) == {None}
    assert operator.is_done
    assert scene.job(delayed) == delayed
    assert scene.job(held)["status"] == "running"
    assert scene.report("complete", held).json["status"] == "completed"
    assert scene.call("GET", f"/jobs/{later['id']}", "admin").status == 404
    assert scene.pending(delay_seconds=3600, idempotency_key=backup)["id"] > later["id"]


def the_api_is_shut(scene: Scene, operator: Operator) -> None:
    """Every function that has a route, and the one that calls them."""
    left = {name for name, reserved in operator.concurrency().items() if reserved != 0}
    assert left == {"maintain", *(name for name in left if name.startswith("authorize"))}
    assert scene.call("POST", "/jobs", "producer", scene.new()).status == 429
    assert scene.call("GET", "/openapi.json").status == 429


def nothing_is_put_back_that_is_not_there(deployed: Deployed, operator: Operator) -> None:
    file = deployed.cloud.folder / "queuelog.db"
    before = file.stat().st_ino

    assert operator.type(f"""maintain '{{"restore": "{NOT_THERE}"}}'""") == {"ok": False}

    assert file.stat().st_ino == before


def a_function_of_before_says_so(scene: Scene, operator: Operator) -> None:
    """As it would without a deployment."""
    function = f"--function-name queuelog-{STAGE}-enqueue"
    operator.type(f"aws lambda delete-function-concurrency {function}")
    assert scene.call("POST", "/jobs", "producer", scene.new()).status == 503
    shut = "aws lambda put-function-concurrency --reserved-concurrent-executions 0"
    operator.type(f"{shut} {function}")


@pytest.mark.parametrize(
    "block",
    [
        "aws lambda invoke --function-name queuelog-emulated-maintain --payload '{}' out.json",
        "aws lambda invoke --function queuelog-emulated-maintain out.json",
        "aws lambda invoke --function-name queuelog-emulated-maintain",
        "aws lambda put-concurrency --function-name queuelog-emulated-get",
        "each put-function-concurrency --reserved-concurrent-executions none",
        "each get-function-concurrency --qualifier 1",
    ],
)
def test_a_command_that_the_aws_cli_would_refuse_is_noticed(operator: Operator, block: str) -> None:
    with pytest.raises(AssertionError):
        operator.type(block)
