"""The type registry: what a file may say, and that every wrong setting is named."""

from pathlib import Path

import pytest

from queuelog_core.errors import ConfigError
from queuelog_core.job import Priority
from queuelog_core.job_types import Backoff, BackoffKind, JobTypes, Policy, load_job_types

WHOLE = """
[types.email]
max_retries = 5
lease_seconds = 60
max_runtime_seconds = 7200
backoff = { kind = "fixed", base_seconds = 2, max_seconds = 9 }
priority_max = "high"
accept = false
"""


def load(tmp_path: Path, text: str) -> JobTypes:
    path = tmp_path / "job_types.toml"
    path.write_text(text, "utf-8")
    return load_job_types(path)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    return str(raised.value)


def test_every_setting_of_a_type_is_read(tmp_path: Path) -> None:
    job_types = load(tmp_path, WHOLE)

    assert dict(job_types) == {
        "email": Policy(
            max_retries=5,
            lease_seconds=60,
            max_runtime_seconds=7200,
            backoff=Backoff(kind=BackoffKind.FIXED, base_seconds=2, max_seconds=9),
            priority_max=Priority.HIGH,
            accept=False,
        )
    }


def test_a_type_without_settings_has_three_retries_five_minutes_and_no_backoff(
    tmp_path: Path,
) -> None:
    policy = load(tmp_path, "[types.email]")["email"]

    assert (policy.max_retries, policy.lease_seconds, policy.max_runtime_seconds) == (3, 300, 3600)
    assert policy.backoff.delay(1, 0.5) == 0
    assert (policy.priority_max, policy.accept) == (Priority.CRITICAL, True)


def test_the_lease_is_no_longer_than_a_longest_run_that_is_short(tmp_path: Path) -> None:
    policy = load(tmp_path, "[types.email]\nmax_runtime_seconds = 20")["email"]

    assert policy.lease_seconds == 20


def test_a_backoff_goes_from_a_second_to_an_hour(tmp_path: Path) -> None:
    policy = load(tmp_path, '[types.email]\nbackoff = { kind = "exponential" }')["email"]

    assert policy.backoff == Backoff(kind=BackoffKind.EXPONENTIAL, base_seconds=1, max_seconds=3600)


def test_a_backoff_that_starts_above_an_hour_stays_there(tmp_path: Path) -> None:
    policy = load(tmp_path, "[types.email]\nbackoff = { base_seconds = 7200 }")["email"]

    assert policy.backoff.max_seconds == 7200


def test_a_backoff_without_a_kind_is_exponential(tmp_path: Path) -> None:
    policy = load(tmp_path, "[types.email]\nbackoff = { base_seconds = 2 }")["email"]

    assert policy.backoff.kind is BackoffKind.EXPONENTIAL


@pytest.mark.parametrize("name", ["email", "report.weekly", "a", "0-day", "x" * 64])
def test_a_type_may_have_that_name(tmp_path: Path, name: str) -> None:
    assert list(load(tmp_path, f'[types."{name}"]')) == [name]


@pytest.mark.parametrize("name", ["", "Email", "-x", "é", "a b", "x" * 65, "email\\n"])
def test_a_type_may_not_have_that_name(tmp_path: Path, name: str) -> None:
    assert "a type's name" in refusal(tmp_path, f'[types."{name}"]')


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("max_retries", ["0", "25"]),
        ("lease_seconds", ["1", "3600"]),
        ("max_runtime_seconds", ["1", "43200"]),
        ("priority_max", ['"low"', '"critical"']),
        ("accept", ["true", "false"]),
        (
            "backoff",
            ["{}", '{ kind = "none" }', "{ base_seconds = 31536000 }", "{ base_seconds = 0 }"],
        ),
    ],
)
def test_a_setting_takes_its_least_and_its_greatest_value(
    tmp_path: Path, setting: str, values: list[str]
) -> None:
    tables = [f"[types.t{index}]\n{setting} = {value}" for index, value in enumerate(values)]

    assert len(load(tmp_path, "\n".join(tables))) == len(values)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_retries", "-1"),
        ("max_retries", "26"),
        ("max_retries", "true"),
        ("max_retries", "1.0"),
        ("max_retries", '"3"'),
        ("lease_seconds", "0"),
        ("lease_seconds", "3601"),
        ("max_runtime_seconds", "0"),
        ("max_runtime_seconds", "43201"),
        ("priority_max", '"urgent"'),
        ("priority_max", "20"),
        ("accept", "1"),
        ("accept", '"no"'),
        ("backoff", "5"),
        ("backoff", '"exponential"'),
        ("backoff.kind", '"linear"'),
        ("backoff.kind", "1"),
        ("backoff.base_seconds", "-1"),
        ("backoff.base_seconds", "0.5"),
        ("backoff.base_seconds", "31536001"),
        ("backoff.max_seconds", "0"),
        ("backoff.max_seconds", "31536001"),
    ],
)
def test_a_setting_that_is_refused_is_named(tmp_path: Path, setting: str, value: str) -> None:
    said = refusal(tmp_path, f"[types.email]\n{setting} = {value}")

    assert f"types.email.{setting} must be" in said


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("retries = 3", "types.email has unknown settings: retries"),
        ("backoff.factor = 3", "types.email.backoff has unknown settings: factor"),
    ],
)
def test_a_setting_that_does_not_exist_is_named(tmp_path: Path, line: str, named: str) -> None:
    assert named in refusal(tmp_path, f"[types.email]\n{line}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[types]",
        "types = 3",
        "types = []",
        "[types]\nemail = 3",
        "[typos.email]",
        "[types.email]\n[keys.shop]",
        "version = 1\n[types.email]",
        "not toml",
        "[types.email]\n[types.email]",
    ],
)
def test_a_file_that_is_no_registry_is_named(tmp_path: Path, text: str) -> None:
    assert "job_types.toml is not a type registry" in refusal(tmp_path, text)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "job_types.toml"
    path.write_bytes(b"[types.email] # caf\xe9")

    with pytest.raises(ConfigError, match=r"job_types\.toml is not a type registry"):
        load_job_types(path)


def test_a_missing_file_is_named_with_the_setting_that_points_to_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml.*QUEUELOG_JOB_TYPES"):
        load_job_types(tmp_path / "nowhere.toml")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a type registry"):
        load_job_types(tmp_path)


def test_a_retired_type_stays_in_the_registry(tmp_path: Path) -> None:
    job_types = load(tmp_path, "[types.email]\n[types.fax]\naccept = false")

    assert list(job_types) == ["email", "fax"]
    assert not job_types["fax"].accept


def test_a_type_that_left_the_file_has_the_default_policy(tmp_path: Path) -> None:
    job_types = load(tmp_path, WHOLE + "[types.plain]")

    assert job_types.policy("telex") == job_types["plain"]
    assert "telex" not in job_types
