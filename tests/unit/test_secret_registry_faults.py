"""A registry in Secrets Manager that is full, is none, or cannot be reached: one clear line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
)
from moto import mock_aws

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.identity import KeyRecord, Role, generate_key
from queuelog_core.job import Priority
from queuelog_core.key_registry import open_registry
from queuelog_core.key_registry.secret import (
    NEARLY_FULL_BYTES,
    SECRET_BYTES_MAX,
    SecretRegistry,
    put_secret_text,
    secret_text,
)
from tests.support.factories import NOON, FakeClock
from tests.support.secrets_manager import NAME, REGION, Secret, secret_of

NOT_A_KEY = "hunter2"


@pytest.fixture
def secret(clock: FakeClock) -> Iterator[Secret]:
    with secret_of(clock) as secret:
        yield secret


def create(registry: SecretRegistry, name: str = "mailer") -> tuple[KeyRecord, str]:
    return registry.create(name, Role.WORKER, priority_max=Priority.MEDIUM)


def test_a_change_that_leaves_little_room_is_noticed(secret: Secret) -> None:
    secret.fill(NEARLY_FULL_BYTES - 2_000)
    roomy, tight = secret.registry(), secret.registry()

    create(roomy, "printer")
    for number in range(10):
        create(tight, f"printer-{number}")

    assert (roomy.is_nearly_full(), tight.is_nearly_full()) == (False, True)


def test_a_key_that_has_no_room_is_refused_and_changes_nothing(secret: Secret) -> None:
    secret.fill(SECRET_BYTES_MAX)
    before = secret.current["VersionId"]

    with pytest.raises(ConfigError, match=rf"{NAME} is full: .* 65536 bytes"):
        create(secret.registry())

    assert secret.current["VersionId"] == before
    assert secret.labels() == ["AWSCURRENT", "AWSPREVIOUS"]


def test_every_key_of_a_full_registry_can_be_revoked(secret: Secret) -> None:
    """A stolen key has to end even when there is no room for another."""
    registry = secret.registry()
    secret.fill(SECRET_BYTES_MAX - 5_000)
    with pytest.raises(ConfigError, match="is full"):
        for number in range(100):
            create(registry, f"printer-{number}")

    for record in registry.records():
        registry.revoke(record.id)

    assert {record.revoked_at for record in registry.records()} == {NOON}
    assert len(secret.current["SecretString"].encode()) <= SECRET_BYTES_MAX


@pytest.mark.parametrize(
    "value",
    [
        {"SecretBinary": NOT_A_KEY.encode()},
        {"SecretString": NOT_A_KEY},
        {"SecretString": f'{{"username":"root","password":"{NOT_A_KEY}"}}'},
        {"SecretString": f'"{NOT_A_KEY}"'},
        {"SecretString": f'["{NOT_A_KEY}"]'},
        {"SecretString": '{"version":2,"keys":[]}'},
        {"SecretString": '{"version":1,"keys":{}}'},
        {"SecretString": '{"version":1,"keys":[{}]}'},
        {"SecretString": "[" * 10_000},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_secret_that_is_no_registry_is_named_and_never_overwritten(
    secret: Secret, value: Any
) -> None:
    registry = secret.registry()
    secret.put(**value)
    before = secret.current["VersionId"]

    for act in (registry.records, lambda: create(registry), lambda: registry.revoke("key_1")):
        with pytest.raises(ConfigError, match=f"{NAME} is not a key registry") as raised:
            act()
        assert NOT_A_KEY not in str(raised.value)
        assert "\n" not in str(raised.value)
    assert secret.current["VersionId"] == before


def test_a_secret_that_is_no_registry_lets_nobody_in(secret: Secret) -> None:
    secret.put(SecretString=NOT_A_KEY)

    with pytest.raises(StoreUnavailable):
        secret.registry().identify(generate_key(Role.ADMIN))


def refused(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "GetSecretValue")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NoRegionError(), "must specify a region"),
        (NoCredentialsError(), "Unable to locate credentials"),
        (EndpointConnectionError(endpoint_url="https://sm.eu-nowhere-1"), "eu-nowhere-1"),
        (refused("UnrecognizedClientException", "The token is\ninvalid."), "The token is invalid"),
        (refused("AccessDeniedException", "User x may not"), "AccessDeniedException"),
        (RuntimeError(NOT_A_KEY), "RuntimeError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_library_says_is_told_in_one_line(
    secret: Secret, error: Exception, told: str
) -> None:
    def fail(_name: str, _call: Any, **_arguments: Any) -> Any:
        raise error

    registry = secret.registry(fail)

    for act in (registry.records, lambda: create(registry), lambda: registry.rotate("mailer")):
        with pytest.raises(ConfigError, match=told) as raised:
            act()
        assert str(raised.value).startswith(f"the secret {NAME} cannot be used: ")
        assert "\n" not in str(raised.value)
        assert NOT_A_KEY not in str(raised.value)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account without secrets, reached as a function reaches it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield


@pytest.mark.parametrize("name", [NAME, "no/such secret", "x" * 3000])
def test_a_secret_that_does_not_exist_is_named(cloud: None, clock: FakeClock, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        open_registry(f"secretsmanager:{name}", clock).records()


def test_without_a_region_nobody_knows_where_the_secret_lies(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(ConfigError, match="You must specify a region"):
        open_registry(f"secretsmanager:{NAME}", clock).records()


def test_without_the_library_it_says_how_to_get_it(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)

    with pytest.raises(ConfigError, match=r"boto3: pip install 'queuelog\[aws\]'"):
        open_registry(f"secretsmanager:{NAME}", clock).records()


def test_a_secret_is_a_text_to_put_and_to_get(cloud: None, secret: Secret) -> None:
    put_secret_text(NAME, "ql_worker")

    assert secret_text(NAME) == "ql_worker"


def test_a_text_is_not_put_into_a_secret_that_does_not_exist(cloud: None) -> None:
    with pytest.raises(ConfigError, match=f"{NAME} cannot be used"):
        put_secret_text(NAME, NOT_A_KEY)


@pytest.mark.parametrize("value", [{"SecretBinary": b"ql_worker"}, {}], ids=["binary", "none"])
def test_a_secret_without_a_text_is_said_to_be_empty(cloud: None, value: Any) -> None:
    made = Secret(FakeClock())
    made.client.create_secret(Name="other", **value)

    with pytest.raises(ConfigError, match="the secret other"):
        secret_text("other")
