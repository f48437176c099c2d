"""`queuelog keys`: made once and shown once, known to a running server within two seconds."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.clock import SystemClock, parse_instant
from tests.support.servers import Server, eventually, queuelog, serving

DAY_MS = 86_400_000
NOTICED_SECONDS = 2.5


def keys(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    done = queuelog(folder, "keys", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def created(folder: Path, name: str, *options: str) -> Any:
    """A new key as `--json` shows it."""
    return json.loads(keys(folder, "create", name, *options, "--json").stdout)


def listed(folder: Path) -> list[Any]:
    return [json.loads(line) for line in keys(folder, "list", "--json").stdout.splitlines()]


def whoami(server: Server, key: str) -> int:
    return server.call("GET", "/whoami", key).status


def test_a_key_goes_to_stdout_alone_and_the_words_to_stderr(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "shop", "--role", "producer")

    [record] = listed(tmp_path)
    assert made.stdout.startswith("ql_producer_")
    assert len(made.stdout.split()) == 1
    assert made.stderr == f"{record['id']} of shop; it is not shown again\n"


def test_a_key_as_json_has_four_fields(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "mailer", "--role", "worker", "--json")

    document = json.loads(made.stdout)
    assert list(document) == ["id", "name", "role", "key"]
    assert (document["name"], document["role"]) == ("mailer", "worker")
    assert made.stderr == ""


def test_a_list_shows_what_each_key_may_do_and_never_a_secret(tmp_path: Path) -> None:
    secrets = [
        created(tmp_path, "shop", "--role", "producer", "--priority-max", "high")["key"],
        created(tmp_path, "mailer", "--role", "worker", "--types", "email,pdf")["key"],
        created(tmp_path, "root", "--role", "admin")["key"],
    ]

    shown = keys(tmp_path, "list").stdout

    powers = [(r["name"], r["role"], r["priority_max"], r["types"]) for r in listed(tmp_path)]
    assert powers == [
        ("shop", "producer", "high", None),
        ("mailer", "worker", "medium", ["email", "pdf"]),
        ("root", "admin", "critical", None),
    ]
    names = [line.split()[1] for line in shown.splitlines()]
    assert names == ["name", "shop", "mailer", "root"]
    files = [path.read_bytes() for path in (tmp_path / ".queuelog").iterdir()]
    for secret in secrets:
        middle = secret.split("_")[2]
        assert middle not in shown + json.dumps(listed(tmp_path))
        assert not any(middle.encode() in data for data in files)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that change its keys; each uses names of its own."""
    with serving(tmp_path_factory.mktemp("live")) as server:
        yield server


def test_a_running_server_knows_a_new_key_within_two_seconds(live: Server) -> None:
    old = created(live.folder, "root", "--role", "admin")["key"]
    eventually(lambda: whoami(live, old) == 200, "the first key works", NOTICED_SECONDS)

    fresh = created(live.folder, "shop", "--role", "producer")["key"]

    eventually(lambda: whoami(live, fresh) == 200, "the second works", NOTICED_SECONDS)


def test_a_running_server_refuses_a_revoked_key_within_two_seconds(live: Server) -> None:
    made = created(live.folder, "poster", "--role", "producer")
    other = created(live.folder, "blog", "--role", "producer")["key"]
    for key in (made["key"], other):
        eventually(partial(accepts, live, key), "both keys work", NOTICED_SECONDS)

    done = keys(live.folder, "revoke", made["id"])

    assert done.stderr == f"revoked {made['id']} of poster\n"
    eventually(lambda: whoami(live, made["key"]) == 403, "it is refused", NOTICED_SECONDS)
    assert accepts(live, other)


def test_a_running_server_refuses_a_key_that_has_expired(live: Server) -> None:
    brief = created(live.folder, "brief", "--role", "producer", "--expires", "3s")["key"]
    eventually(lambda: whoami(live, brief) == 200, "the key works", NOTICED_SECONDS)

    eventually(lambda: whoami(live, brief) == 403, "it has expired", 6)


def accepts(server: Server, key: str) -> bool:
    return whoami(server, key) == 200


def test_revoking_twice_changes_nothing(tmp_path: Path) -> None:
    made = created(tmp_path, "shop", "--role", "producer")
    keys(tmp_path, "revoke", made["id"])
    before = listed(tmp_path)

    keys(tmp_path, "revoke", made["id"])

    assert before[0]["revoked_at"] is not None
    assert listed(tmp_path) == before


def test_a_rotated_name_has_two_keys_with_the_same_powers_and_no_third(live: Server) -> None:
    folder = live.folder
    powers = ("--role", "worker", "--types", "email", "--priority-max", "high")
    first = created(folder, "mailer", *powers)

    second = json.loads(keys(folder, "rotate", "mailer", "--json").stdout)
    third = queuelog(folder, "keys", "rotate", "mailer")

    old, new = [record for record in listed(folder) if record["name"] == "mailer"]
    assert (old["id"], new["id"]) == (first["id"], second["id"])
    assert {**new, "id": 0, "created_at": 0} == {**old, "id": 0, "created_at": 0}
    assert third.returncode == 1
    assert first["id"] in third.stderr
    assert second["id"] in third.stderr
    for made in (first, second):
        eventually(partial(accepts, live, made["key"]), "both keys work", NOTICED_SECONDS)


def test_a_lifetime_is_counted_from_the_making_of_the_key(tmp_path: Path) -> None:
    clock = SystemClock()
    before = clock()

    created(tmp_path, "shop", "--role", "producer", "--expires", "90d")
    created(tmp_path, "blog", "--role", "producer", "--expires", "30m")

    for record, lifetime in zip(listed(tmp_path), (90 * DAY_MS, DAY_MS // 48), strict=True):
        assert before <= parse_instant(record["expires_at"]) - lifetime <= clock()


def test_a_lifetime_beyond_the_calendar_never_breaks_the_list(tmp_path: Path) -> None:
    command = ("keys", "create", "shop", "--role", "producer")
    queuelog(tmp_path, *command, "--expires", "9999999d")

    shown = queuelog(tmp_path, "keys", "list")

    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("create", "shop"),
        ("create", "shop", "--role", "king"),
        ("create", "shop", "--role", "producer", "--priority-max", "urgent"),
        ("create", "shop", "--role", "producer", "--expires", "90"),
        ("create", "shop", "--role", "producer", "--expires", "0d"),
        ("revoke",),
    ],
)
def test_a_wrong_usage_ends_with_2_and_makes_nothing(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = queuelog(tmp_path, "keys", *arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    command = " ".join(("queuelog keys", *arguments[:1]))
    told = done.stderr.splitlines()
    if arguments:
        assert [line.partition(": ")[0] for line in told] == ["error", "hint"]
        assert told[1] == f"hint: {command} --help"
    else:
        assert told[0].startswith(f"Usage: {command}")
    assert not (tmp_path / ".queuelog" / "keys.json").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("create", "Shop", "--role", "producer"), "a name looks like"),
        (("create", "shop", "--role", "worker"), "shop is a producer"),
        (("revoke", "key_0"), "key_0"),
        (("rotate", "blog"), "blog has no live key"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], named: str
) -> None:
    created(tmp_path, "shop", "--role", "producer")
    before = (tmp_path / ".queuelog" / "keys.json").read_bytes()

    done = queuelog(tmp_path, "keys", *arguments)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert (tmp_path / ".queuelog" / "keys.json").read_bytes() == before


def test_a_registry_in_a_folder_that_is_missing_is_one_line(tmp_path: Path) -> None:
    command = ("keys", "create", "shop", "--role", "producer")

    done = queuelog(tmp_path, *command, QUEUELOG_KEYS="file:no/keys.json")

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "no/keys.json" in done.stderr


def create(folder: Path, name: str) -> "subprocess.CompletedProcess[str]":
    return queuelog(folder, "keys", "create", name, "--role", "producer")


def test_processes_that_make_keys_at_the_same_time_lose_none(tmp_path: Path) -> None:
    names = [f"shop-{number}" for number in range(8)]

    with ThreadPoolExecutor(len(names)) as pool:
        codes = list(pool.map(lambda name: create(tmp_path, name).returncode, names))

    assert codes == [0] * len(names)
    assert sorted(record["name"] for record in listed(tmp_path)) == names
