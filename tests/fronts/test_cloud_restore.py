"""Going back to a backup on a deployment, pasted block by block from docs/operations.md."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fronts.conftest import Deployed
from tests.fronts.front import Front
from tests.fronts.operators import DEFINING, Operator
from tests.fronts.scene import Scene
from tests.support.aws_command import aws_command
from tests.support.cloud import STAGE

NOT_THERE = "queuelog-20261130T033000.000Z.db"


@pytest.fixture
def operator(deployed: Deployed, tmp_path: Path) -> Iterator[Operator]:
    with aws_command(tmp_path, deployed.cloud.client) as path:
        yield Operator(deployed.cloud, tmp_path, path, DEFINING)


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
