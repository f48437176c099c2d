"""The compiled functions: volume, network, concurrency, limits that nest, settings, schedules."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from queuelog_core.config import load_config, load_drain_config, load_maintain_config
from queuelog_core.job_types import Policy
from queuelog_core.key_registry import secret
from queuelog_core.stores.volume import GUARD_SECONDS, NETWORK
from scripts.build_lambda import PLATFORMS, RUNTIME
from tests.functions.template import AUTHORIZING, MOUNTING, STAGE, Template, compiled
from tests.support.http import shipped_types

GATEWAY_SECONDS = 30
# After that time a server gives away the locks of a client that it no longer hears.
VOLUME_LEASE_SECONDS = 90
LEASE_SECONDS_MIN = 120
DRAIN_MARGIN_SECONDS = 30
LEASES = {name: policy.lease_seconds for name, policy in shipped_types().items()}
FOLDER = "/mnt/queuelog"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled(tmp_path_factory)


def timeouts(template: Template, *functions: str) -> set[int]:
    return {template.functions[name]["Timeout"] for name in functions}


def test_exactly_the_functions_that_use_the_store_have_the_volume_and_its_network(
    template: Template,
) -> None:
    found = template.functions.items()

    assert {name for name, each in found if "FileSystemConfigs" in each} == MOUNTING
    assert {name for name, each in found if "VpcConfig" in each} == MOUNTING


def test_the_store_and_its_backups_lie_on_the_volume(template: Template) -> None:
    for name in MOUNTING:
        settings = template.environment(name)
        assert template.functions[name]["FileSystemConfigs"] == [
            {"LocalMountPath": FOLDER, "Arn": {"Fn::GetAtt": ["AccessPoint", "Arn"]}}
        ]
        assert settings["QUEUELOG_STORE"] == f"sqlite:///{FOLDER}/queuelog.db"
        assert settings["QUEUELOG_BACKUPS"] == f"{FOLDER}/backups"


def test_a_function_is_made_after_the_mount_targets_in_each_of_its_subnets(
    template: Template,
) -> None:
    targets = template.of("EFS::MountTarget")
    for name in MOUNTING:
        own = template.functions[name]["VpcConfig"]
        after = set(template.resource_of(name)["DependsOn"])
        assert set(targets) <= after, name
        assert own["SubnetIds"] == [each["SubnetId"] for each in targets.values()]
        assert own["SecurityGroupIds"] == [{"Fn::GetAtt": ["FunctionSecurityGroup", "GroupId"]}]


def test_one_of_each_writer_runs_at_a_time(template: Template) -> None:
    reserved = {
        name: each["ReservedConcurrentExecutions"]
        for name, each in template.functions.items()
        if "ReservedConcurrentExecutions" in each
    }

    assert reserved == dict.fromkeys((*MOUNTING, "drain"), 1)


def test_an_account_with_a_small_quota_reserves_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    plain = compiled(tmp_path_factory, "dev", "--param=concurrency=unreserved")

    assert set(plain.functions) > MOUNTING
    assert not [name for name in plain.functions if "Reserved" in str(plain.functions[name])]


def test_each_limit_is_wider_than_the_one_before(template: Template) -> None:
    (api,) = timeouts(template, *MOUNTING - {"maintain"})

    assert NETWORK.busy_seconds < GUARD_SECONDS < api < GATEWAY_SECONDS < VOLUME_LEASE_SECONDS
    for name, lease in {**LEASES, "a type without one": Policy().lease_seconds}.items():
        assert lease > VOLUME_LEASE_SECONDS, name
        assert lease >= LEASE_SECONDS_MIN, name


def test_the_worker_ends_before_it_is_cut_off_and_before_any_lease(template: Template) -> None:
    """B60: a function that runs longer than its jobs' leases does their work twice."""
    (timeout,) = timeouts(template, "drain")
    settings = load_drain_config(template.plain_environment("drain"))

    assert settings.job_seconds <= settings.drain_seconds < timeout
    assert min(LEASES.values()) >= timeout + DRAIN_MARGIN_SECONDS


def test_an_authorizer_has_time_for_a_registry_that_is_slow_to_answer(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off in the middle it would lose the copy that it could go on with."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    patience = secret._secrets_manager().meta.config
    tries = patience.retries["total_max_attempts"]
    pauses = sum(2**n for n in range(tries - 1))
    waits = tries * (patience.connect_timeout + patience.read_timeout) + pauses
    (timeout,) = timeouts(template, *AUTHORIZING)

    assert waits < timeout < GATEWAY_SECONDS


class Noting(dict[str, str]):
    """Settings that note which of them are read."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def settings_read(template: Template, function: str) -> Iterator[str]:
    noting = Noting(template.plain_environment(function))
    load_config(noting)
    if function == "maintain":
        load_maintain_config(noting)
    if function == "drain":
        load_drain_config(noting)
    yield from noting.read


def test_each_function_has_every_setting_that_it_reads(template: Template) -> None:
    """The job types lie in the package, where they are looked for without a setting."""
    for name in template.functions:
        missing = set(settings_read(template, name)) - set(template.environment(name))
        assert missing == {"QUEUELOG_JOB_TYPES"}, name


def test_no_setting_is_given_that_nobody_reads(template: Template) -> None:
    read = {each for name in template.functions for each in settings_read(template, name)}
    given = {each for name in template.functions for each in template.environment(name)}

    # The last is read by serverless-wsgi.
    assert given - read == {"STRIP_STAGE_PATH"}


def test_no_key_stands_in_the_template(template: Template) -> None:
    assert template.environment("drain")["QUEUELOG_API_KEY"] == ""
    assert not re.search(r"\bql_[a-z]", template.text)


def test_keys_are_read_from_the_secrets_that_the_template_makes(template: Template) -> None:
    names = {name: each["Name"] for name, each in template.of("SecretsManager::Secret").items()}

    for function in (*AUTHORIZING, *MOUNTING):
        settings = template.environment(function)
        assert settings["QUEUELOG_KEYS"] == f"secretsmanager:{names['KeysSecret']}"
    drain = template.environment("drain")
    assert drain["QUEUELOG_API_KEY_SECRET"] == names["DrainKeySecret"]
    assert drain["QUEUELOG_URL"] == {"Fn::GetAtt": ["HttpApi", "ApiEndpoint"]}


def test_the_worker_has_a_package_of_its_own_and_all_have_the_runtime_they_are_built_for(
    template: Template,
) -> None:
    for name, each in template.functions.items():
        package = "drain" if name == "drain" else "api"
        assert each["Code"]["S3Key"].endswith(f"/{package}.zip")
        assert each["Runtime"] == RUNTIME
        assert each["Architectures"] == ["x86_64"]
    assert all(platform.endswith("_x86_64") for platform in PLATFORMS)


def test_upkeep_and_worker_run_each_minute_and_a_backup_is_made_each_day(
    template: Template,
) -> None:
    scheduled = []
    for rule in template.of("Events::Rule").values():
        (target,) = rule["Targets"]
        assert rule["State"] == "ENABLED"
        sent = json.loads(target["Input"]) if "Input" in target else None
        scheduled.append((template.name_at(target["Arn"]), rule["ScheduleExpression"], sent))

    assert sorted(scheduled, key=str) == [
        ("drain", "rate(1 minute)", None),
        ("maintain", "cron(30 3 * * ? *)", {"backup": True}),
        ("maintain", "rate(1 minute)", None),
    ]


def test_a_scheduled_run_that_failed_or_found_no_room_is_not_made_up_for(
    template: Template,
) -> None:
    """The next one follows within a minute; a backup that met a pass is worth ten of waiting."""
    for each in template.of("Lambda::EventInvokeConfig").values():
        assert each["MaximumRetryAttempts"] == 0
        assert each["MaximumEventAgeInSeconds"] <= 600
    assert len(template.of("Lambda::EventInvokeConfig")) == 2


def test_the_log_of_every_function_is_kept_for_a_month(template: Template) -> None:
    groups = {each["LogGroupName"]: each for each in template.of("Logs::LogGroup").values()}

    assert set(groups) == {
        *(f"/aws/lambda/queuelog-{STAGE}-{name}" for name in template.functions),
        f"/aws/http-api/queuelog-{STAGE}",
    }
    assert {each.get("RetentionInDays") for each in groups.values()} == {30}
