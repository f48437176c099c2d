"""What only a deployment on DynamoDB shows: its table, its upkeep, the way back to an instant."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.stores.dynamodb_items import job_key
from tests.fronts.conftest import Deployed
from tests.fronts.front import Front
from tests.fronts.operators import Operator
from tests.fronts.scene import Scene
from tests.support.aws_command import aws_command

SECTION = "Restore a table"


@pytest.fixture
def operator(deployed_table: Deployed, tmp_path: Path) -> Iterator[Operator]:
    with aws_command(tmp_path, deployed_table.cloud.client) as path:
        yield Operator(deployed_table.cloud, tmp_path, path, SECTION)


def table_name(deployed: Deployed) -> str:
    return f"queuelog-{deployed.cloud.stage}"


def is_in(table: str, job: Any, deployed: Deployed) -> bool:
    with closing(deployed.cloud.client("dynamodb")) as client:
        pk, sk = job_key(job["id"])
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        return "Item" in client.get_item(TableName=table, Key=key)


def test_jobs_lie_in_the_table_of_the_stage_and_are_counted_and_listed_there(
    deployed_table: Deployed, table_front: Front
) -> None:
    scene = Scene(table_front)
    job = scene.pending(idempotency_key="counted")
    seen = scene.call("GET", "/stats", "worker").json
    listed = scene.call("GET", "/jobs?status=pending", "producer").json["jobs"]

    assert is_in(table_name(deployed_table), job, deployed_table)
    assert (seen["exact"], seen["types"]["email"]["pending"]) == (False, 1)
    assert [each["id"] for each in listed] == [job["id"]]
    assert scene.report("complete", scene.claim()).status == 200


def test_a_key_of_nobody_and_one_of_another_stage_open_nothing(
    cloud_front: Front, table_front: Front
) -> None:
    asked = [
        table_front.call("GET", "/stats", key).status
        for key in (None, "junk", cloud_front.keys["worker"], table_front.keys["worker"])
    ]

    assert asked == [401, 403, 403, 200]


def test_the_upkeep_measures_and_says_that_it_backs_nothing_up(
    deployed_table: Deployed, table_front: Front
) -> None:
    kept_up = deployed_table.cloud.invoke("maintain", b"{}")
    backed_up = deployed_table.cloud.invoke("maintain", b'{"backup": true}')

    assert kept_up["ok"] is True
    assert backed_up == {"ok": False}


def test_a_deployment_that_has_forgotten_the_database_is_refused(deployed_table: Deployed) -> None:
    emulator = deployed_table.cloud

    done = emulator.beside(emulator.stage).try_to_deploy("--built")

    assert done.returncode == 1
    assert "lie where database=dynamodb says" in done.stderr


def test_the_document_leads_back_to_an_instant(
    deployed_table: Deployed, table_front: Front, operator: Operator
) -> None:
    scene = Scene(table_front)
    held = scene.running(priority="critical", idempotency_key="held")

    operator.paste()
    assert scene.call("POST", "/jobs", "producer", scene.new()).status == 429
    operator.paste()
    operator.paste()
    operator.deploy()
    operator.paste()

    assert operator.is_done
    assert set(operator.concurrency().values()) == {None}
    assert scene.report("complete", held).json["status"] == "completed"
    assert scene.pending(idempotency_key="next")["id"] > held["id"]
    later = scene.running(priority="critical")
    assert scene.call("GET", f"/jobs/{held['id']}", "admin").json["status"] == "completed"
    old, restored = (table_name(deployed_table) + end for end in ("", "-restored"))
    assert not is_in(old, later, deployed_table)
    assert is_in(restored, later, deployed_table)
    the_table_is_as_the_template_makes_one(restored, deployed_table)


def the_table_is_as_the_template_makes_one(name: str, deployed: Deployed) -> None:
    with closing(deployed.cloud.client("dynamodb")) as client:
        made = client.describe_table(TableName=name)["Table"]
        expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert made["DeletionProtectionEnabled"] is True
    assert {index["IndexName"] for index in made["GlobalSecondaryIndexes"]} == {"list", "work"}
    assert (expiry["TimeToLiveStatus"], expiry["AttributeName"]) == ("ENABLED", "x")
    found = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    assert found == "ENABLED"
