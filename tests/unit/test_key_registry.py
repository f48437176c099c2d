"""Keys and the file they are in: created, rotated, revoked, by several processes at once.

What a server knows while the file changes or breaks is in test_key_registry_reading.py."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.errors import ConfigError
from queuelog_core.identity import KeyRecord, Role
from queuelog_core.job import Priority
from queuelog_core.key_registry.file import FileRegistry
from tests.support.factories import NOON, FakeClock, FakeSeconds
from tests.support.processes import FRESH, Fresh

MEDIUM, HIGH = Priority.MEDIUM, Priority.HIGH
PROCESSES, KEYS_EACH = 2, 8


@pytest.fixture
def seconds() -> FakeSeconds:
    return FakeSeconds()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def registry(path: Path, clock: FakeClock, seconds: FakeSeconds) -> FileRegistry:
    return FileRegistry(path, clock, seconds)


@pytest.fixture
def reader(path: Path, clock: FakeClock, seconds: FakeSeconds) -> FileRegistry:
    """Another process's view of the same file."""
    return FileRegistry(path, clock, seconds)


def create(registry: FileRegistry, name: str = "mailer", **powers: Any) -> tuple[KeyRecord, str]:
    return registry.create(name, Role.WORKER, **{"priority_max": MEDIUM, **powers})


def name_of(registry: FileRegistry, key: str) -> str | None:
    identity = registry.identify(key)
    return identity.name if identity else None


def test_a_created_key_stands_for_what_it_was_given(registry: FileRegistry) -> None:
    record, key = create(registry, priority_max=HIGH, types=frozenset({"email"}))

    assert registry.identify(key) == record.identity()
    assert (record.name, record.priority_max, record.created_at) == ("mailer", HIGH, NOON)
    assert record.types == frozenset({"email"})


def test_the_file_is_only_for_its_owner(registry: FileRegistry, path: Path) -> None:
    old = os.umask(0)
    try:
        create(registry)
    finally:
        os.umask(old)

    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_a_file_that_others_could_read_is_closed_by_the_next_change(
    registry: FileRegistry, path: Path
) -> None:
    create(registry)
    path.chmod(0o644)

    create(registry, "printer")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_holds_nothing_of_a_key(registry: FileRegistry, path: Path) -> None:
    _, key = create(registry)

    assert key.split("_")[2] not in path.read_text("utf-8")


@pytest.mark.parametrize("fault", ["fsync", "replace"])
def test_a_change_that_breaks_off_leaves_the_file_as_it_was(
    registry: FileRegistry, path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def break_off(*_: object) -> None:
        raise OSError("disk full")

    create(registry)
    before = path.read_bytes()
    monkeypatch.setattr(os if fault == "fsync" else Path, fault, break_off)

    with pytest.raises(OSError, match="disk full"):
        create(registry, "printer")

    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.new"))


def test_a_change_never_overwrites_a_file_that_is_no_registry(
    registry: FileRegistry, path: Path
) -> None:
    path.write_text("half a regis", "utf-8")

    with pytest.raises(ConfigError):
        create(registry)

    assert path.read_text("utf-8") == "half a regis"


def create_many(path: Path, number: int, start: Any) -> None:
    registry = FileRegistry(path, FakeClock())
    start.wait()
    for index in range(KEYS_EACH):
        create(registry, f"worker-{number}-{index}")


def test_processes_that_create_keys_at_once_lose_none(path: Path) -> None:
    start = FRESH.Barrier(PROCESSES)
    processes = [
        Fresh(target=create_many, args=(path, number, start)) for number in range(PROCESSES)
    ]

    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0] * PROCESSES
    names = {record.name for record in FileRegistry(path, FakeClock()).records()}
    assert names == {f"worker-{n}-{i}" for n in range(PROCESSES) for i in range(KEYS_EACH)}


def test_a_name_has_two_live_keys_at_most(registry: FileRegistry) -> None:
    ids = [create(registry)[0].id for _ in range(2)]

    with pytest.raises(ConfigError) as raised:
        create(registry)

    assert all(key_id in str(raised.value) for key_id in ids)


def test_a_revoked_key_makes_room_for_another(registry: FileRegistry) -> None:
    first, _ = create(registry)
    create(registry)

    registry.revoke(first.id)

    assert name_of(registry, create(registry)[1]) == "mailer"


def test_an_expired_key_makes_room_for_another(registry: FileRegistry, clock: FakeClock) -> None:
    for _ in range(2):
        create(registry, expires_at=NOON + 1_000)
    clock.advance(1)

    assert name_of(registry, create(registry)[1]) == "mailer"


def test_rotation_gives_a_second_key_with_the_same_powers(registry: FileRegistry) -> None:
    old, old_key = create(
        registry, priority_max=HIGH, types=frozenset({"pdf"}), expires_at=NOON * 2
    )

    new, new_key = registry.rotate("mailer")

    assert (name_of(registry, old_key), name_of(registry, new_key)) == ("mailer", "mailer")
    assert new.id != old.id
    assert (new.role, new.priority_max, new.types) == (old.role, old.priority_max, old.types)


def test_a_rotated_key_lives_as_long_as_the_old_one_did(
    registry: FileRegistry, clock: FakeClock
) -> None:
    create(registry, expires_at=NOON + 90_000)
    clock.advance(60)

    new, _ = registry.rotate("mailer")

    assert new.expires_at == NOON + 60_000 + 90_000


def test_rotation_takes_the_powers_of_the_newest_live_key(registry: FileRegistry) -> None:
    first, _ = create(registry, priority_max=Priority.LOW)
    create(registry, priority_max=HIGH)
    registry.revoke(first.id)

    assert registry.rotate("mailer")[0].priority_max is HIGH


def test_rotation_needs_a_live_key(registry: FileRegistry) -> None:
    registry.revoke(create(registry)[0].id)

    with pytest.raises(ConfigError, match="no live key"):
        registry.rotate("mailer")


def test_a_revoked_key_is_unknown_within_a_second(
    registry: FileRegistry, reader: FileRegistry, seconds: FakeSeconds
) -> None:
    record, key = create(registry)
    known_before = name_of(reader, key)

    registry.revoke(record.id)
    seconds.now += 1

    assert (known_before, name_of(reader, key)) == ("mailer", None)


def test_a_key_revoked_again_keeps_the_time_of_the_first(
    registry: FileRegistry, clock: FakeClock
) -> None:
    record, _ = create(registry)
    registry.revoke(record.id)
    clock.advance(60)

    assert registry.revoke(record.id).revoked_at == NOON


def test_a_key_that_does_not_exist_cannot_be_revoked(registry: FileRegistry) -> None:
    with pytest.raises(ConfigError, match="key_0"):
        registry.revoke("key_0")


def test_a_key_is_unknown_from_the_instant_it_expires(
    registry: FileRegistry, clock: FakeClock
) -> None:
    _, key = create(registry, expires_at=NOON + 60_000)
    known_before = name_of(registry, key)

    clock.advance(60)

    assert (known_before, name_of(registry, key)) == ("mailer", None)


def test_a_name_keeps_its_role_after_its_keys_were_revoked(registry: FileRegistry) -> None:
    registry.revoke(create(registry)[0].id)

    with pytest.raises(ConfigError, match="keeps its role"):
        registry.create("mailer", Role.ADMIN, priority_max=MEDIUM)
