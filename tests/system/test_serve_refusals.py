"""What `queuelog serve` cannot start with: one line that names it, exit 1, nothing touched."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from queuelog_core.stores import open_store
from tests.support.servers import queuelog, serving


def refusal(folder: Path, *options: str, **settings: str) -> str:
    """The one line on stderr, next to those of the log, with which `queuelog serve` ends."""
    done = queuelog(folder, "serve", "--port", "0", *options, **settings)

    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith('{"at":')]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUEUELOG_LOG_LEVEL", "LOUD"),
        ("QUEUELOG_RETENTION_DAYS", "a week"),
        ("QUEUELOG_STORE", "postgres://localhost/queuelog"),
        ("QUEUELOG_STORE", "sqlite://[half"),
        ("QUEUELOG_KEYS", "keys.json"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, name: str, value: str) -> None:
    line = refusal(tmp_path, **{name: value})

    assert name in line


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("QUEUELOG_JOB_TYPES", "no_types.toml", "no_types.toml"),
        ("QUEUELOG_STORE", "sqlite:///no/folder/queuelog.db", "/no/folder"),
        ("QUEUELOG_KEYS", "file:.", "key registry"),
    ],
)
def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, name: str, value: str, named: str
) -> None:
    line = refusal(tmp_path, **{name: value})

    assert named in line


@pytest.mark.parametrize("text", ["[types.email]\nretries = 3\n", "[types\n"])
def test_a_type_registry_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "types.toml").write_text(text, "utf-8")

    line = refusal(tmp_path, QUEUELOG_JOB_TYPES="types.toml")

    assert "types.toml" in line


def home_with(folder: Path, name: str, data: bytes) -> Path:
    home = folder / ".queuelog"
    home.mkdir()
    file = home / name
    file.write_bytes(data)
    return file


def test_a_database_file_that_is_none_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    data = b"not a database " * 500
    file = home_with(tmp_path, "queuelog.db", data)

    line = refusal(tmp_path)

    assert str(file) in line
    assert file.read_bytes() == data
    assert [path.name for path in file.parent.iterdir()] == ["queuelog.db"]


def test_a_database_of_a_newer_version_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    file = home_with(tmp_path, "queuelog.db", b"")
    with closing(open_store(f"sqlite:///{file}")):
        pass
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = file.read_bytes()

    line = refusal(tmp_path)

    assert str(file) in line
    assert "99" in line
    assert "upgrade" in line
    assert file.read_bytes() == before


def test_a_database_of_another_application_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    file = home_with(tmp_path, "queuelog.db", b"")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    before = file.read_bytes()

    line = refusal(tmp_path)

    assert str(file) in line
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"version": 2, "keys": []}',
        b'{"version": 1, "keys": ["ql_producer"]}',
        b'{"version": 1, "keys": {}}',
    ],
)
def test_a_key_file_that_is_none_is_named_and_left_as_it_is(tmp_path: Path, data: bytes) -> None:
    file = home_with(tmp_path, "keys.json", data)

    line = refusal(tmp_path, "--demo")

    assert "keys.json" in line
    assert file.read_bytes() == data


def test_a_file_in_place_of_the_data_folder_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".queuelog").write_text("mine", "utf-8")

    line = refusal(tmp_path)

    assert ".queuelog" in line
    assert (tmp_path / ".queuelog").read_text("utf-8") == "mine"


def test_a_taken_port_is_named_with_a_way_out(tmp_path: Path) -> None:
    with serving(tmp_path / "first") as first:
        port = urlsplit(first.url).port
        (tmp_path / "second").mkdir()

        line = refusal(tmp_path / "second", "--port", str(port))

        assert f"127.0.0.1:{port} is taken" in line
        assert "--port" in line
        assert first.call("GET", "/health").status == 200


@pytest.mark.parametrize("host", ["127.0.0.1:80", "203.0.113.7"])
def test_an_address_that_cannot_be_served_is_named(tmp_path: Path, host: str) -> None:
    line = refusal(tmp_path, "--host", host)

    assert f"{host}:0" in line


@pytest.mark.parametrize("module", ["no_such_module", "json"])
def test_handlers_that_cannot_be_loaded_are_named(tmp_path: Path, module: str) -> None:
    line = refusal(tmp_path, "--demo", "--handlers", module)

    assert f"--handlers {module}" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--port", "80000"),
        ("serve", "now"),
        ("server",),
    ],
)
def test_a_wrong_usage_ends_with_2_and_says_what_is_wrong(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = queuelog(tmp_path, *arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert not (tmp_path / ".queuelog").exists()
