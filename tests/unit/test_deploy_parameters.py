"""What `make deploy` refuses before anything is built or sent, and what it asks for."""

import sys

import pytest

from scripts import deploy


def deployed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What it says when it refuses; it must not get as far as running anything."""
    monkeypatch.setattr(sys, "argv", ["deploy", *arguments])
    monkeypatch.setattr(deploy, "run", lambda *_: pytest.fail("it began"))
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

    deploy.main()

    (command,) = ran
    assert command[2:4] == ("deploy", "--force")
