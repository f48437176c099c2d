"""The compiled template of a stage on DynamoDB: a table in the place of volume and network."""

from typing import Any

import pytest

from queuelog_core.stores.dynamodb_client import Client, connect
from queuelog_core.stores.dynamodb_schema import create_table
from scripts.infra_files import UPKEEP
from tests.functions.template import (
    MOUNTING,
    RESTORED,
    STAGE,
    Template,
    compiled,
    compiled_for_a_table,
    complaints_about,
)
from tests.functions.test_template_functions import GATEWAY_SECONDS

ONLY_FOR_A_FILE = {
    *("Vpc", "SubnetA", "SubnetB", "FunctionSecurityGroup", "FileSystemSecurityGroup"),
    *("FileSystem", "MountTargetA", "MountTargetB", "AccessPoint", "BackupMissingAlarm"),
    *("MaintainEventsRuleSchedule2", "MaintainLambdaPermissionEventsRuleSchedule2"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled_for_a_table(tmp_path_factory)


@pytest.fixture(scope="module")
def on_a_file(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled(tmp_path_factory)


@pytest.fixture
def table(template: Template) -> Any:
    (table,) = template.of("DynamoDB::Table").values()
    return table


class Home:
    """Stands for boto3 where a table is made, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def create_table(self, **request: Any) -> None:
        self.asked |= request

    def update_time_to_live(self, **request: Any) -> None:
        self.asked |= request

    def get_waiter(self, _: str) -> "Home":
        return self

    def wait(self, **_: Any) -> None:
        """It is there at once."""


def test_cloudformation_would_take_the_template(template: Template) -> None:
    assert complaints_about(template) == ""


def test_nothing_is_left_of_volume_and_network(template: Template, on_a_file: Template) -> None:
    assert set(on_a_file.resources) - set(template.resources) == ONLY_FOR_A_FILE
    assert set(template.resources) - set(on_a_file.resources) == {"Table"}
    for word in ("EFS", "EC2", "ec2:", "elasticfilesystem", "VpcConfig", "FileSystemConfigs"):
        assert word not in template.text
        assert word in on_a_file.text


def test_whatever_knows_no_store_is_the_same(template: Template, on_a_file: Template) -> None:
    both = template.resources.keys() & on_a_file.resources.keys()
    changed = {
        name
        for name in both
        if beside_the_store(template.resources[name]) != beside_the_store(on_a_file.resources[name])
    }

    assert changed == {f"{name.capitalize()}Role" for name in MOUNTING}


def test_the_table_is_the_one_that_the_store_makes_at_home(table: Any) -> None:
    home = Home()
    create_table(Client(lambda: home), f"queuelog-{STAGE}")

    expiry = home.asked.pop("TimeToLiveSpecification")
    assert table["TimeToLiveSpecification"] == expiry
    assert {name: table[name] for name in home.asked} == home.asked


def test_jobs_can_be_had_back_and_outlive_the_stack(template: Template, table: Any) -> None:
    (resource,) = (each for each in template.resources.values() if each.get("Properties") == table)

    assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
    assert resource["UpdateReplacePolicy"] == "Retain"
    assert table["DeletionProtectionEnabled"] is True
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    # DynamoDB's own key, which costs nothing and needs no permission.
    assert "SSESpecification" not in table


def test_functions_use_the_table_that_is_named_and_are_made_after_their_own(
    template: Template,
) -> None:
    """tests/fronts/test_cloud_table.py deploys a stage that names none."""
    url = f"dynamodb://{RESTORED}?region=${{AWS::Region}}&shards=4"
    for name in template.functions:
        assert template.environment(name)["QUEUELOG_STORE"] == {"Fn::Sub": url}
    for name in MOUNTING:
        assert "Table" in template.resource_of(name)["DependsOn"], name


def test_an_api_function_has_time_for_all_tries_of_a_call(template: Template) -> None:
    """Cut off in the middle it could not say that the store is unavailable."""
    patience = connect("eu-west-1", None).meta.config
    tries = patience.retries["total_max_attempts"]
    pauses = sum(2**n for n in range(tries - 1))
    waits = tries * (patience.connect_timeout + patience.read_timeout) + pauses

    for name in MOUNTING:
        assert waits < template.functions[name]["Timeout"], name
    for name in MOUNTING - {UPKEEP}:
        assert template.functions[name]["Timeout"] < GATEWAY_SECONDS, name


def test_as_many_run_at_a_time_as_are_called(template: Template) -> None:
    assert "ReservedConcurrentExecutions" not in template.text


def test_the_upkeep_has_no_backup_to_make(template: Template) -> None:
    scheduled = sorted(
        (template.name_at(rule["Targets"][0]["Arn"]), rule["ScheduleExpression"])
        for rule in template.of("Events::Rule").values()
    )

    assert scheduled == [("drain", "rate(1 minute)"), ("maintain", "rate(1 minute)")]
    assert "Backup" not in template.text


def beside_the_store(resource: Any) -> Any:
    """A resource without what a function has on account of its store, and without the name of its
    package, which is the moment of its upload."""
    if resource["Type"] != "AWS::Lambda::Function":
        return resource
    left_out = {
        *("Code", "Environment", "VpcConfig", "FileSystemConfigs"),
        *("ReservedConcurrentExecutions", "Timeout"),
    }
    return {name: each for name, each in resource["Properties"].items() if name not in left_out}
