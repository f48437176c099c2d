"""The compiled template as a whole: valid, what must not get lost, alarms, the offline stage."""

import json
import operator
import re
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.config import load_drain_config
from queuelog_core.maintain import keep_up, look_after_backups
from queuelog_core.queue import Queue
from tests.functions.template import STAGE, Template, compiled, complaints_about
from tests.support.http import ROOT

ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")
REGION = re.compile(r"\b(?:af|ap|ca|eu|il|me|mx|sa|us)(?:-gov)?-[a-z]+-\d[a-z]?\b")
NEVER_LOST = {"EFS::FileSystem", "SecretsManager::Secret"}
TO_THE_INTERNET = {
    *("AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::EIP"),
    *("AWS::EC2::EgressOnlyInternetGateway", "AWS::EC2::VPCGatewayAttachment"),
}
# Alarm, its metric, and whether no numbers at all are an alarm too.
OWN_ALARMS = {
    "OldestDueAlarm": ("OldestDueAgeSeconds", "notBreaching"),
    "DeadJobsAlarm": ("DeadJobs", "notBreaching"),
    "ExpiredLeasesAlarm": ("RecoveredLeases", "notBreaching"),
    "UpkeepSilentAlarm": ("UpkeepRuns", "breaching"),
    "BackupMissingAlarm": ("Backups", "breaching"),
}
AMAZONS_ALARMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ServerErrorsAlarm": ("AWS/ApiGateway", "5xx", {"ApiId": {"Ref": "HttpApi"}}),
    "DrainErrorsAlarm": (
        "AWS/Lambda",
        "Errors",
        {"FunctionName": {"Ref": "DrainLambdaFunction"}},
    ),
}
RINGS = {"GreaterThanThreshold": operator.gt, "LessThanThreshold": operator.lt}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled(tmp_path_factory)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """As scripts/offline.py sets it up."""
    return compiled(
        tmp_path_factory,
        "offline",
        QUEUELOG_STORE="sqlite:////data/queuelog.db",
        QUEUELOG_KEYS="file:/data/keys.json",
        QUEUELOG_URL="http://127.0.0.1:3000",
        QUEUELOG_API_KEY="the key of the demo's worker",
        QUEUELOG_FOLDER="/data",
    )


@pytest.fixture
def metrics(deployed_queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the upkeep and the backup write for this stage when nothing is wrong."""
    monkeypatch.setenv("QUEUELOG_STAGE", STAGE)
    lines: list[str] = []
    keep_up(deployed_queue, lines.append)
    look_after_backups({"backup": True}, lines.append)
    pass_, backup = map(json.loads, lines)
    (told,), (more,) = (line["_aws"]["CloudWatchMetrics"] for line in (pass_, backup))
    told["Metrics"] += more["Metrics"]
    return {**backup, **pass_}


def dimensions(alarm: Any) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in alarm["Dimensions"]}


def test_cloudformation_would_take_the_template(template: Template) -> None:
    assert complaints_about(template) == ""


def test_nothing_of_one_account_or_region_is_written_down(template: Template) -> None:
    assert not ACCOUNT.search(template.text)
    assert not REGION.search(template.text)
    assert "arn:aws" not in template.text


def test_the_sources_name_one_region_which_is_the_default(template: Template) -> None:
    files = [ROOT / "serverless.yml", *sorted((ROOT / "infra").glob("*.yml"))]
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]

    assert [line.strip() for line in lines if ACCOUNT.search(line) or REGION.search(line)] == [
        "region: ${opt:region, 'eu-west-1'}"
    ]


@pytest.mark.parametrize("kind", sorted(NEVER_LOST))
def test_jobs_and_keys_outlive_the_stack(template: Template, kind: str) -> None:
    for name in template.of(kind):
        # A first deployment that fails leaves nothing behind that is in the way of the second.
        assert template.resources[name]["DeletionPolicy"] == "RetainExceptOnCreate"
        assert template.resources[name]["UpdateReplacePolicy"] == "Retain"


def test_the_volume_is_encrypted_and_backed_up_and_private_to_its_user(template: Template) -> None:
    (volume,) = template.of("EFS::FileSystem").values()
    (access,) = template.of("EFS::AccessPoint").values()

    assert volume["Encrypted"] is True
    assert volume["BackupPolicy"] == {"Status": "ENABLED"}
    assert access["RootDirectory"]["CreationInfo"]["Permissions"] == "0700"
    assert access["PosixUser"] == {"Uid": "1000", "Gid": "1000"}


def test_the_network_reaches_the_volume_and_nothing_else(template: Template) -> None:
    assert TO_THE_INTERNET.isdisjoint(each["Type"] for each in template.resources.values())
    groups = template.of("EC2::SecurityGroup")
    (vpc,) = template.of("EC2::VPC").values()
    (out,) = groups["FunctionSecurityGroup"]["SecurityGroupEgress"]
    (into,) = groups["FileSystemSecurityGroup"]["SecurityGroupIngress"]

    assert (out["FromPort"], out["ToPort"], out["CidrIp"]) == (2049, 2049, vpc["CidrBlock"])
    assert (into["FromPort"], into["ToPort"]) == (2049, 2049)
    assert into["SourceSecurityGroupId"] == {"Fn::GetAtt": ["FunctionSecurityGroup", "GroupId"]}
    assert "SecurityGroupIngress" not in groups["FunctionSecurityGroup"]
    assert not any(each.get("MapPublicIpOnLaunch") for each in template.of("EC2::Subnet").values())


def test_there_is_an_alarm_for_each_thing_that_somebody_should_know(template: Template) -> None:
    assert set(template.of("CloudWatch::Alarm")) == {*OWN_ALARMS, *AMAZONS_ALARMS}


@pytest.mark.parametrize("name", OWN_ALARMS)
def test_an_alarm_watches_a_number_that_the_upkeep_writes(
    template: Template, metrics: Any, name: str
) -> None:
    alarm = template.of("CloudWatch::Alarm")[name]
    (written,) = metrics["_aws"]["CloudWatchMetrics"]
    (by,) = written["Dimensions"]

    assert (alarm["MetricName"], alarm["TreatMissingData"]) == OWN_ALARMS[name]
    assert alarm["Namespace"] == written["Namespace"]
    assert alarm["MetricName"] in {each["Name"] for each in written["Metrics"]}
    assert dimensions(alarm) == {dimension: metrics[dimension] for dimension in by}


@pytest.mark.parametrize("name", OWN_ALARMS)
def test_an_idle_queue_rings_no_alarm(template: Template, metrics: Any, name: str) -> None:
    alarm = template.of("CloudWatch::Alarm")[name]
    rings = RINGS[alarm["ComparisonOperator"]]

    assert not rings(metrics[alarm["MetricName"]], alarm["Threshold"])
    assert rings(0 if alarm["TreatMissingData"] == "breaching" else 10_000, alarm["Threshold"])


@pytest.mark.parametrize("name", AMAZONS_ALARMS)
def test_an_alarm_watches_a_number_that_the_gateway_or_lambda_counts(
    template: Template, name: str
) -> None:
    alarm = template.of("CloudWatch::Alarm")[name]

    assert (alarm["Namespace"], alarm["MetricName"], dimensions(alarm)) == AMAZONS_ALARMS[name]
    assert alarm["Statistic"] == "Sum"
    for reference in dimensions(alarm).values():
        assert reference["Ref"] in template.resources


def test_every_alarm_reaches_a_topic_that_alarms_may_write_to(template: Template) -> None:
    """They may not use the key that AWS keeps for SNS."""
    (topic,) = template.of("SNS::Topic").values()

    assert topic.get("KmsMasterKeyId") != "alias/aws/sns"
    for alarm in template.of("CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == [{"Ref": "AlarmTopic"}]
    (subscription,) = template.of("SNS::Subscription").values()
    assert subscription["TopicArn"] == {"Ref": "AlarmTopic"}


def test_the_offline_stage_works_on_this_machines_file_and_keys(offline: Template) -> None:
    for name in offline.functions:
        settings = offline.environment(name)
        assert settings["QUEUELOG_STORE"] == "sqlite:////data/queuelog.db"
        assert settings["QUEUELOG_KEYS"] == "file:/data/keys.json"
        assert not Path(settings["QUEUELOG_BACKUPS"]).is_absolute()
    drain = load_drain_config(offline.environment("drain"))
    assert (drain.url, drain.key) == ("http://127.0.0.1:3000", "the key of the demo's worker")
    assert drain.folder == Path("/data")


def test_the_offline_stage_has_plain_settings_only(offline: Template) -> None:
    """The emulator shows a function the text [object Object] for a reference."""
    settings = [value for name in offline.functions for value in offline.environment(name).values()]

    assert {type(value) for value in settings} == {str}


def test_the_offline_worker_ends_before_it_is_cut_off(offline: Template) -> None:
    drain = load_drain_config(offline.environment("drain"))

    assert drain.job_seconds <= drain.drain_seconds < offline.functions["drain"]["Timeout"]


def test_the_offline_stage_has_the_same_functions_and_fires_the_same_schedules(
    template: Template, offline: Template
) -> None:
    assert set(offline.functions) == set(template.functions)
    for name, rule in template.of("Events::Rule").items():
        assert offline.of("Events::Rule")[name] == rule
