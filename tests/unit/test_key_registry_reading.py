"""What a server knows of the keys while their file changes, breaks or is missing."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.identity import Role, generate_key
from queuelog_core.job import Priority
from queuelog_core.key_registry import open_registry
from queuelog_core.key_registry.file import FileRegistry
from tests.support.factories import FakeClock, FakeSeconds


class Keys:
    """A file of keys, its writer, and the server that reads it."""

    def __init__(self, path: Path, clock: FakeClock) -> None:
        self.path = path
        self.seconds = FakeSeconds()
        self.writer = FileRegistry(path, clock, self.seconds)
        self.server = FileRegistry(path, clock, self.seconds)

    def create(self, name: str = "mailer") -> str:
        return self.writer.create(name, Role.WORKER, priority_max=Priority.MEDIUM)[1]

    def knows(self, key: str) -> bool:
        return self.server.identify(key) is not None


@pytest.fixture
def keys(tmp_path: Path, clock: FakeClock) -> Keys:
    return Keys(tmp_path / "keys.json", clock)


def spoil(path: Path) -> None:
    path.write_text('{"version": 1, "keys": [', "utf-8")


def test_a_file_that_does_not_exist_yet_holds_no_keys(keys: Keys) -> None:
    assert not keys.knows(generate_key(Role.WORKER))


def test_the_first_key_of_all_is_known_within_a_second(keys: Keys) -> None:
    keys.knows(generate_key(Role.WORKER))

    key = keys.create()
    keys.seconds.now += 1

    assert keys.knows(key)


def test_the_file_is_looked_at_once_a_second_at_most(keys: Keys) -> None:
    keys.create()
    keys.knows(generate_key(Role.WORKER))

    key = keys.create("printer")
    keys.seconds.now += 0.999

    assert not keys.knows(key)


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_read_again(keys: Keys) -> None:
    first = keys.create()
    keys.knows(first)
    seen = keys.path.stat()
    fresh = keys.path.with_name("fresh.json")
    fresh.write_text(keys.path.read_text("utf-8").replace("mailer", "mauler"), "utf-8")
    os.utime(fresh, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    fresh.replace(keys.path)
    keys.seconds.now += 1

    identity = keys.server.identify(first)
    assert identity is not None
    assert identity.name == "mauler"


@pytest.mark.parametrize("harm", [spoil, Path.unlink])
def test_the_last_good_copy_serves_for_ten_minutes(
    keys: Keys, harm: Callable[[Path], None]
) -> None:
    key = keys.create()
    keys.knows(key)

    harm(keys.path)
    keys.seconds.now += 600

    assert keys.knows(key)


@pytest.mark.parametrize("harm", [spoil, Path.unlink])
def test_nobody_is_known_once_the_last_good_copy_is_ten_minutes_old(
    keys: Keys, harm: Callable[[Path], None]
) -> None:
    key = keys.create()
    keys.knows(key)

    harm(keys.path)
    keys.seconds.now += 600.5

    with pytest.raises(StoreUnavailable):
        keys.knows(key)


def test_a_file_that_is_mended_is_read_again(keys: Keys) -> None:
    key = keys.create()
    good = keys.path.read_bytes()
    spoil(keys.path)
    with pytest.raises(StoreUnavailable):
        keys.knows(key)

    keys.path.write_bytes(good)
    keys.seconds.now += 1

    assert keys.knows(key)


def test_a_file_that_is_spoilt_from_the_start_lets_nobody_in(keys: Keys) -> None:
    key = keys.create()
    spoil(keys.path)

    with pytest.raises(StoreUnavailable):
        keys.knows(key)


def test_a_file_that_cannot_be_read_is_logged_as_an_error_without_its_text(
    keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    key = keys.create()
    keys.knows(key)
    keys.path.write_text("hunter2", "utf-8")

    keys.seconds.now += 1
    keys.knows(key)

    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "keys-unreadable")
    assert "hunter2" not in str(record.__dict__)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "null",
        "[]",
        "{}",
        '{"keys": []}',
        '{"version": 1}',
        '{"version": 2, "keys": []}',
        '{"version": "1", "keys": []}',
        '{"version": 1, "keys": null}',
        '{"version": 1, "keys": {}}',
        '{"version": 1, "keys": [{}]}',
        '{"version": 1, "keys": ["key_1"]}',
        '{"version": 1, "keys": [',
        "[" * 10_000,
        "\0" * 100,
    ],
    ids=range(16),
)
def test_a_file_that_is_no_registry_stops_the_start(
    tmp_path: Path, clock: FakeClock, text: str
) -> None:
    (tmp_path / "keys.json").write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=r"keys\.json"):
        open_registry(f"file:{tmp_path}/keys.json", clock)


def test_a_file_that_is_not_utf_8_stops_the_start(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "keys.json").write_bytes(b'{"version": 1, "keys": ["\xe9"]}')

    with pytest.raises(ConfigError, match=r"keys\.json"):
        open_registry(f"file:{tmp_path}/keys.json", clock)


def test_a_registry_is_opened_before_its_file_exists(tmp_path: Path, clock: FakeClock) -> None:
    registry = open_registry(f"file:{tmp_path}/keys.json", clock)

    assert registry.records() == []


@pytest.mark.parametrize(
    "url", ["", "file:", "keys.json", "/keys.json", "secretsmanager:", "File:keys.json"]
)
def test_a_registry_of_another_kind_names_the_setting(url: str, clock: FakeClock) -> None:
    with pytest.raises(ConfigError, match="QUEUELOG_KEYS"):
        open_registry(url, clock)
