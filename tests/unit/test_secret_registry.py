"""Keys in Secrets Manager: created, listed, rotated, revoked, and read once a minute.

Operators at once are in test_secret_registry_races.py, what cannot be read or kept in
test_secret_registry_faults.py, the command in test_secret_registry_command.py."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.identity import KeyRecord, Role, generate_key
from queuelog_core.job import Priority
from queuelog_core.key_registry.secret import SecretRegistry
from tests.support.factories import NOON, FakeClock
from tests.support.secrets_manager import Secret, secret_of

MEDIUM, HIGH = Priority.MEDIUM, Priority.HIGH


@pytest.fixture
def secret(clock: FakeClock) -> Iterator[Secret]:
    with secret_of(clock) as secret:
        yield secret


@pytest.fixture
def registry(secret: Secret) -> SecretRegistry:
    return secret.registry()


@pytest.fixture
def reader(secret: Secret) -> SecretRegistry:
    """A warm function's view of the same secret."""
    return secret.registry()


def create(registry: SecretRegistry, name: str = "mailer", **powers: Any) -> tuple[KeyRecord, str]:
    return registry.create(name, Role.WORKER, **{"priority_max": MEDIUM, **powers})


def knows(registry: SecretRegistry, key: str) -> bool:
    return registry.identify(key) is not None


def test_a_created_key_stands_for_what_it_was_given(registry: SecretRegistry) -> None:
    record, key = create(registry, priority_max=HIGH, types=frozenset({"email"}))

    assert registry.identify(key) == record.identity()
    assert registry.records() == [record]
    assert (record.name, record.priority_max, record.created_at) == ("mailer", HIGH, NOON)


def test_the_secret_holds_nothing_of_a_key(secret: Secret, registry: SecretRegistry) -> None:
    _, key = create(registry)

    assert key.split("_")[2] not in secret.current["SecretString"]
    assert '"mailer"' in secret.current["SecretString"]


def test_a_secret_without_keys_lets_nobody_in(registry: SecretRegistry) -> None:
    assert not knows(registry, generate_key(Role.ADMIN))


def test_rotation_gives_a_second_key_with_the_same_powers(registry: SecretRegistry) -> None:
    old, old_key = create(registry, priority_max=HIGH, types=frozenset({"pdf"}))

    new, new_key = registry.rotate("mailer")

    assert knows(registry, old_key)
    assert knows(registry, new_key)
    assert (new.role, new.priority_max, new.types) == (old.role, old.priority_max, old.types)
    with pytest.raises(ConfigError, match="two live keys"):
        registry.rotate("mailer")


def test_a_revoked_key_is_unknown_and_stays_in_the_list(registry: SecretRegistry) -> None:
    record, key = create(registry)

    registry.revoke(record.id)

    assert not knows(registry, key)
    assert registry.records() == [record._replace(revoked_at=NOON)]


def test_a_name_keeps_its_role_for_ever(registry: SecretRegistry) -> None:
    registry.revoke(create(registry)[0].id)

    with pytest.raises(ConfigError, match="keeps its role"):
        registry.create("mailer", Role.ADMIN, priority_max=MEDIUM)


def test_a_key_revoked_again_keeps_its_time_and_writes_no_version(
    secret: Secret, registry: SecretRegistry, clock: FakeClock
) -> None:
    record, _ = create(registry)
    registry.revoke(record.id)
    before = secret.current["VersionId"]
    clock.advance(60)

    assert registry.revoke(record.id).revoked_at == NOON
    assert secret.current["VersionId"] == before


def test_a_reader_sees_what_others_change_after_a_minute_and_not_before(
    secret: Secret, registry: SecretRegistry, reader: SecretRegistry
) -> None:
    record, old = create(registry)
    knows(reader, old)
    _, new = create(registry, "printer")
    registry.revoke(record.id)

    secret.seconds.now += 59.9
    early = knows(reader, old), knows(reader, new)
    secret.seconds.now += 0.1
    late = knows(reader, old), knows(reader, new)

    assert (early, late) == ((True, False), (False, True))


def test_a_minute_of_requests_costs_one_look(secret: Secret, registry: SecretRegistry) -> None:
    looks = []

    def count(name: str, call: Any, **arguments: Any) -> Any:
        looks.append(name)
        return call(**arguments)

    _, key = create(registry)
    reader = secret.registry(count)

    assert all(knows(reader, key) for _ in range(100))
    assert looks == ["get_secret_value"]


def unreachable(_name: str, _call: Any, **_arguments: Any) -> Any:
    raise ConnectionError("hunter2")


def read_then_lost(secret: Secret, key: str) -> SecretRegistry:
    """A reader that has read the keys once and reaches the service no more."""
    reader = secret.registry()
    assert knows(reader, key)
    vars(reader)["_client"] = secret.registry(unreachable)._client
    return reader


def test_the_last_good_copy_serves_for_ten_minutes_and_no_longer(
    secret: Secret, registry: SecretRegistry
) -> None:
    _, key = create(registry)
    reader = read_then_lost(secret, key)

    secret.seconds.now += 600
    assert knows(reader, key)

    secret.seconds.now += 0.1
    with pytest.raises(StoreUnavailable):
        knows(reader, key)


def test_a_reader_that_was_cut_off_is_well_again_after_its_next_look(
    secret: Secret, registry: SecretRegistry
) -> None:
    _, key = create(registry)
    reader = read_then_lost(secret, key)
    secret.seconds.now += 601
    with pytest.raises(StoreUnavailable):
        knows(reader, key)

    vars(reader)["_client"] = secret.client
    secret.seconds.now += 60

    assert knows(reader, key)


def test_a_reader_that_never_read_looks_again_after_a_second(
    secret: Secret, registry: SecretRegistry
) -> None:
    """One lost packet at a cold start must not refuse everybody for a minute."""
    _, key = create(registry)
    reader = secret.registry(unreachable)
    with pytest.raises(StoreUnavailable):
        knows(reader, key)
    vars(reader)["_client"] = secret.client

    with pytest.raises(StoreUnavailable):
        knows(reader, key)
    secret.seconds.now += 1

    assert knows(reader, key)


def test_a_look_that_fails_is_logged_once_without_a_word_of_the_answer(
    secret: Secret, registry: SecretRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    _, key = create(registry)
    reader = read_then_lost(secret, key)

    secret.seconds.now += 60
    assert all(knows(reader, key) for _ in range(5))

    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "keys-unreadable")
    assert "hunter2" not in str(record.__dict__)
    assert key not in str(record.__dict__)
