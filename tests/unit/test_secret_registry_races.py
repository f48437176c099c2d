"""Operators who change the keys in Secrets Manager at once, and answers that get lost."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from queuelog_core.errors import ConfigError
from queuelog_core.identity import KeyRecord, Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.secret import TRIES, SecretRegistry
from tests.support.factories import NOON, FakeClock
from tests.support.secrets_manager import Around, Secret, is_move, secret_of

OPERATORS, KEYS_EACH = 8, 4
SETTLED = ["AWSCURRENT", "AWSPREVIOUS"]
STEPS = ["put_secret_value", "move"]


@pytest.fixture
def secret(clock: FakeClock) -> Iterator[Secret]:
    with secret_of(clock) as secret:
        yield secret


def create(registry: SecretRegistry, name: str) -> tuple[KeyRecord, str]:
    return registry.create(name, Role.WORKER, priority_max=Priority.MEDIUM)


def names(secret: Secret) -> list[str]:
    return sorted(record.name for record in secret.registry().records())


def before(step: str, act: Callable[[], object], times: int = 1) -> Around:
    """Somebody else acts right before this step of the first changes."""
    left = times

    def around(name: str, call: Any, **arguments: Any) -> Any:
        nonlocal left
        if left and (name == step or (step == "move" and is_move(name, arguments))):
            left -= 1
            act()
        return call(**arguments)

    return around


@pytest.mark.parametrize("step", STEPS)
def test_two_operators_who_create_at_once_both_keep_their_key(secret: Secret, step: str) -> None:
    others: list[str] = []
    slow = secret.registry(
        before(step, lambda: others.append(create(secret.registry(), "printer")[1]))
    )

    _, key = create(slow, "mailer")

    reader = secret.registry()
    assert names(secret) == ["mailer", "printer"]
    assert all(reader.identify(known) for known in (key, *others))


@pytest.mark.parametrize("step", STEPS)
def test_a_key_that_is_revoked_meanwhile_stays_revoked(secret: Secret, step: str) -> None:
    old, _ = create(secret.registry(), "printer")
    slow = secret.registry(before(step, lambda: secret.registry().revoke(old.id)))

    create(slow, "mailer")

    revoked = {record.name: record.revoked_at for record in secret.registry().records()}
    assert revoked == {"mailer": None, "printer": NOON}


@pytest.mark.parametrize("step", STEPS)
def test_a_key_is_revoked_although_others_are_made_meanwhile(secret: Secret, step: str) -> None:
    old, _ = create(secret.registry(), "printer")
    slow = secret.registry(before(step, lambda: create(secret.registry(), "mailer")))

    slow.revoke(old.id)

    revoked = {record.name: record.revoked_at for record in secret.registry().records()}
    assert revoked == {"mailer": None, "printer": NOON}


def test_the_rules_hold_for_what_others_have_made_meanwhile(secret: Secret) -> None:
    """A name never gets a second role, nor a third live key, by being fast."""
    other = secret.registry()
    slow = secret.registry(
        before("move", lambda: other.create("mailer", Role.ADMIN, priority_max=Priority.LOW))
    )

    with pytest.raises(ConfigError, match="keeps its role"):
        create(slow, "mailer")

    assert [record.role for record in other.records()] == [Role.ADMIN]


def test_an_operator_who_always_comes_too_late_is_told_so(secret: Secret) -> None:
    number = iter(range(TRIES))
    slow = secret.registry(
        before("move", lambda: create(secret.registry(), f"w-{next(number)}"), TRIES)
    )

    with pytest.raises(ConfigError, match="others change it"):
        create(slow, "mailer")

    assert names(secret) == [f"w-{number}" for number in range(TRIES)]
    assert secret.labels() == SETTLED


def test_many_operators_at_once_lose_no_key(secret: Secret) -> None:
    one_call = threading.Lock()

    def around(_name: str, call: Any, **arguments: Any) -> Any:
        # The service does each call as a whole; the imitation of it has to be made to.
        with one_call:
            return call(**arguments)

    def operate(operator: int) -> list[str]:
        registry = secret.registry(around)
        return [create_at_last(registry, f"w-{operator}-{key}") for key in range(KEYS_EACH)]

    def create_at_last(registry: SecretRegistry, name: str) -> str:
        while True:
            try:
                return create(registry, name)[1]
            except ConfigError as error:
                assert "others change it" in str(error)

    with ThreadPoolExecutor(OPERATORS) as pool:
        keys = [key for made in pool.map(operate, range(OPERATORS)) for key in made]

    reader = secret.registry()
    assert len(names(secret)) == len(keys) == OPERATORS * KEYS_EACH
    assert all(reader.identify(key) for key in keys)
    assert secret.labels() == SETTLED


def repeat_each(secret: Secret, operation: str) -> None:
    """The library itself sends each request again, as after an answer that got lost."""

    def again(attempts: int, **_: Any) -> int | None:
        return 0 if attempts == 1 else None

    secret.client.meta.events.register_first(f"needs-retry.secrets-manager.{operation}", again)


@pytest.mark.parametrize("operation", ["PutSecretValue", "UpdateSecretVersionStage"])
def test_a_request_that_the_library_repeats_makes_one_key(secret: Secret, operation: str) -> None:
    sent: list[str] = []
    secret.client.meta.events.register(
        f"before-send.secrets-manager.{operation}", lambda **_: sent.append(operation)
    )
    repeat_each(secret, operation)

    record, key = create(secret.registry(), "mailer")
    gone = secret.registry().revoke(record.id)

    assert len(sent) == {"PutSecretValue": 4, "UpdateSecretVersionStage": 8}[operation]
    assert secret.registry().records() == [gone]
    assert secret.labels() == SETTLED
    assert key


def lost_answers(where: Callable[[str, Any], bool], act: Callable[[], object]) -> Around:
    """The request is done, then `act`; the library never hears of it and gives up."""

    def around(name: str, call: Any, **arguments: Any) -> Any:
        answer = call(**arguments)
        if where(name, arguments):
            act()
            raise ReadTimeoutError(endpoint_url="https://secretsmanager")
        return answer

    return around


def test_a_move_of_which_nothing_is_heard_is_found_to_be_done(secret: Secret) -> None:
    record, key = create(secret.registry(lost_answers(is_move, lambda: None)), "mailer")

    reader = secret.registry()
    assert reader.records() == [record]
    assert reader.identify(key) == record.identity()
    assert secret.labels() == SETTLED


def test_a_label_that_cannot_be_taken_off_loses_no_key(secret: Secret) -> None:
    """The key would be valid, and nobody would have seen it."""

    def takes_off(name: str, arguments: Any) -> bool:
        return name == "update_secret_version_stage" and not is_move(name, arguments)

    record, key = create(secret.registry(lost_answers(takes_off, lambda: None)), "mailer")

    assert secret.registry().identify(key) == record.identity()


def test_a_move_whose_answer_is_lost_behind_anothers_change_makes_one_key(secret: Secret) -> None:
    """The library repeats it, is refused, and by then the current version is another's."""
    moves = 0

    def around(name: str, call: Any, **arguments: Any) -> Any:
        nonlocal moves
        if not is_move(name, arguments):
            return call(**arguments)
        moves += 1
        if moves == 1:
            call(**arguments)
            create(secret.registry(), "printer")
        return call(**arguments)

    record, key = create(secret.registry(around), "mailer")

    assert names(secret) == ["mailer", "printer"]
    assert secret.registry().identify(key) == record.identity()


def test_a_move_that_never_arrives_changes_nothing(secret: Secret) -> None:
    def around(name: str, call: Any, **arguments: Any) -> Any:
        if is_move(name, arguments):
            raise ReadTimeoutError(endpoint_url="https://secretsmanager")
        return call(**arguments)

    with pytest.raises(ConfigError, match="timeout"):
        create(secret.registry(around), "mailer")

    assert names(secret) == []
    assert secret.labels() == ["AWSCURRENT"]


def test_labels_do_not_pile_up(secret: Secret) -> None:
    """A secret has room for twenty."""
    registry = secret.registry()
    for number in range(30):
        create(registry, f"w-{number}")

    assert secret.labels() == SETTLED
