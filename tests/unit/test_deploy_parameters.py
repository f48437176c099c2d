"""What `make deploy` refuses before anything is built or sent, and what it asks for."""

import sys
from pathlib import Path

import pytest

from scripts import deploy


def deployed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What it says when it refuses; it must not get as far as running anything."""
    monkeypatch.setattr(sys, "argv", ["deploy", *arguments])
    monkeypatch.setattr(deploy, "run", lambda *_: pytest.fail("it began"))
    # It sets the region for what it calls.
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with pytest.raises(SystemExit) as ended:
        deploy.main()
    return str(ended.value)


@pytest.mark.parametrize(
    "text", ["unreserved", "alarmMail=me@example.com", "concurrency", "=x", "frameworkVersion=1"]
)
def test_a_parameter_that_the_stage_does_not_know_is_named(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    said = deployed(monkeypatch, "prod", text)

    assert said.startswith(f"deploy: {text} is none of ")
    assert "alarmEmail" in said


def test_concurrency_is_one_of_two_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reserved or unreserved" in deployed(monkeypatch, "prod", "concurrency=unreservd")


def test_a_database_is_one_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sqlite or dynamodb" in deployed(monkeypatch, "prod", "database=postgres")


ON_A_TABLE = {"database": "dynamodb", "table": "queuelog-prod"}
RESTORED = {"database": "dynamodb", "table": "queuelog-prod-restored"}


@pytest.mark.parametrize(
    ("there", "said", "forgotten"),
    [
        (ON_A_TABLE, [], "database=dynamodb"),
        (ON_A_TABLE, ["bucket=b"], "database=dynamodb"),
        (RESTORED, [], "database=dynamodb"),
        (RESTORED, ["database=dynamodb"], "table=queuelog-prod-restored"),
    ],
)
def test_a_stage_does_not_begin_anew_because_a_parameter_was_forgotten(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, str], said: list[str], forgotten: str
) -> None:
    monkeypatch.setattr(deploy, "place_of_jobs", lambda _: there)

    assert f"where {forgotten} says" in deployed(monkeypatch, "prod", *said)


@pytest.mark.parametrize(
    ("there", "given"),
    [
        ({}, {}),
        ({}, {"database": "dynamodb"}),
        ({"database": "sqlite"}, {}),
        ({"database": "sqlite"}, {"database": "dynamodb"}),
        (ON_A_TABLE, {"database": "dynamodb"}),
        (ON_A_TABLE, {"database": "sqlite"}),
        (ON_A_TABLE, RESTORED),
        (RESTORED, RESTORED),
        (RESTORED, {"database": "sqlite"}),
        (RESTORED, ON_A_TABLE),
    ],
)
def test_a_stage_moves_when_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, str], given: dict[str, str]
) -> None:
    monkeypatch.setattr(deploy, "place_of_jobs", lambda _: there)

    deploy.refuse_to_leave_jobs_behind("prod", given)


@pytest.mark.parametrize(
    "text",
    [
        "  prod: { bucket: b, database: dynamodb, table: kept }\n",
        "  prod:\n    bucket: b\n\n    database: 'dynamodb' # now\n    table: kept\n"
        "    # database: sqlite\n",
        "  prod:\n    { database: dynamodb,\n      table: kept }\n  productive: {}\n",
    ],
)
def test_what_is_written_down_for_a_stage_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    others = "  default:\n    database: sqlite\n  prod2: { database: sqlite, table: other }\n"
    file = f"params:\n{others}{text}  test:\n    table: tested\nprovider:\n  name: aws\n"
    (tmp_path / "serverless.yml").write_text(file, "utf-8")
    monkeypatch.setattr(deploy, "ROOT", tmp_path)

    assert deploy.written("prod") == {"database": "dynamodb", "table": "kept"}
    assert deploy.written("prod2") == {"database": "sqlite", "table": "other"}
    assert deploy.written("dev") == {}


def test_the_stage_of_the_emulation_is_not_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "choose another name" in deployed(monkeypatch, "offline")


def test_a_value_may_hold_an_equals_sign() -> None:
    assert deploy.parameter("sender=a=b") == ("sender", "a=b")


@pytest.mark.parametrize(
    ("settings", "region"),
    [
        ({"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "us-east-1"}, "eu-north-1"),
        ({"AWS_DEFAULT_REGION": "us-east-1"}, "us-east-1"),
        ({}, "eu-west-1"),
    ],
)
def test_the_region_is_the_one_that_the_aws_tools_take(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], region: str
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    assert deploy.region_of_the_environment() == region


def test_a_deployment_takes_place_also_where_nothing_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")  # which it sets for what it calls
    monkeypatch.setattr(sys, "argv", ["deploy", "prod", "--built", "bucket=b"])
    monkeypatch.setattr(deploy, "run", lambda *command: ran.append(command))
    monkeypatch.setattr(deploy, "make_first_keys", lambda *_: None)
    monkeypatch.setattr(deploy, "place_of_jobs", lambda _: {})

    deploy.main()

    (command,) = ran
    assert command[2:4] == ("deploy", "--force")
