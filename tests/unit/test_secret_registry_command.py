"""`queuelog keys … --registry secretsmanager:NAME`, against Secrets Manager in this process."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from queuelog_core.cli import main
from queuelog_core.clock import SystemClock
from queuelog_core.key_registry.secret import NEARLY_FULL_BYTES
from tests.support.secrets_manager import EMPTY, NAME, REGION, Secret, secret_of

PLACE = f"secretsmanager:{NAME}"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Secret]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("QUEUELOG_KEYS", f"file:{tmp_path}/keys.json")
    with secret_of(SystemClock()) as secret:
        yield secret


def keys(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["keys", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def keys_there(*arguments: str) -> Result:
    """The command with the option behind what it does."""
    result = keys(*arguments, "--registry", PLACE)
    assert result.exit_code == 0, result.stderr
    return result


def created(*arguments: str) -> Any:
    return json.loads(keys_there("create", *arguments, "--json").stdout)


def test_a_key_is_created_where_the_option_says(secret: Secret, tmp_path: Path) -> None:
    made = created("shop", "--role", "producer")

    identity = secret.registry().identify(made["key"])
    assert identity is not None
    assert identity.name == "shop"
    assert not (tmp_path / "keys.json").exists()


def test_without_the_option_it_is_the_registry_of_the_settings(
    secret: Secret, tmp_path: Path
) -> None:
    assert keys("create", "shop", "--role", "producer").exit_code == 0

    assert (tmp_path / "keys.json").exists()
    assert secret.current["SecretString"] == EMPTY


def test_the_settings_may_name_a_secret(secret: Secret, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUELOG_KEYS", PLACE)

    assert keys("create", "shop", "--role", "producer").exit_code == 0

    assert [record.name for record in secret.registry().records()] == ["shop"]


def test_the_option_may_name_a_file(secret: Secret, tmp_path: Path) -> None:
    place = f"file:{tmp_path}/others.json"

    assert keys("create", "shop", "--role", "producer", "--registry", place).exit_code == 0

    assert (tmp_path / "others.json").exists()
    assert secret.current["SecretString"] == EMPTY


def test_keys_are_listed_rotated_and_revoked_there(secret: Secret) -> None:
    first = created("shop", "--role", "producer")
    second = json.loads(keys_there("rotate", "shop", "--json").stdout)
    keys_there("revoke", first["id"])

    shown = [json.loads(line) for line in keys_there("list", "--json").stdout.splitlines()]

    assert [record["id"] for record in shown] == [first["id"], second["id"]]
    assert [record["revoked_at"] is None for record in shown] == [False, True]
    registry = secret.registry()
    assert registry.identify(first["key"]) is None
    assert registry.identify(second["key"]) is not None


@pytest.mark.parametrize("command", [("create", "shop", "--role", "producer"), ("rotate", "w-007")])
def test_a_registry_that_is_nearly_full_is_told_beside_the_key(
    secret: Secret, command: tuple[str, ...]
) -> None:
    secret.fill(NEARLY_FULL_BYTES)

    done = keys_there(*command)

    assert done.stdout.startswith("ql_")
    assert len(done.stdout.split()) == 1
    assert "warning: there is room for few further keys" in done.stderr


def test_a_registry_with_room_warns_of_nothing() -> None:
    done = keys_there("create", "shop", "--role", "producer")

    assert "warning" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("create", "shop", "--role", "producer"),
        ("list",),
        ("revoke", "key_0123456789ab"),
        ("rotate", "shop"),
    ],
)
@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("secretsmanager:nothing", "ResourceNotFoundException"),
        ("secretsmanager:", "QUEUELOG_KEYS"),
        ("nonsense", "secretsmanager:NAME"),
        ("file:/no/such/folder/keys.json", ""),
    ],
)
def test_a_registry_that_cannot_be_used_is_one_line(
    command: tuple[str, ...], place: str, told: str
) -> None:
    done = keys(*command, "--registry", place)

    assert done.exit_code == (0 if command == ("list",) and not told else 1)
    assert done.stderr.count("\n") <= 1, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.output


def test_without_boto3_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)

    done = keys("list", "--registry", PLACE)

    assert done.exit_code == 1
    assert "pip install 'queuelog[aws]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["create", "list", "revoke", "rotate"])
def test_every_command_of_keys_has_the_option(command: str) -> None:
    assert "--registry" in keys(command, "--help").stdout
