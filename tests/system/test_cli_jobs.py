"""The command as a producer and an operator use it, against a real server with its demo worker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers import serving
from tests.system.cli_scene import Shell

MAIL = '{"to": "ada@example.com"}'


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with serving(tmp_path_factory.mktemp("demo"), "--demo") as server:
        yield Shell(server)


def test_a_job_is_enqueued_and_waited_for(shell: Shell) -> None:
    done = shell("enqueue", "email", MAIL, "--wait", key="PRODUCER_KEY")

    assert done.returncode == 0, done.stderr
    job_id = int(done.stdout)
    assert done.stderr == "email is completed\n"
    assert shell.lines("jobs", "show", str(job_id))[0]["status"] == "completed"


def test_waiting_for_a_job_that_fails_is_a_failure(shell: Shell) -> None:
    done = shell("enqueue", "email", '{"to": ""}', "--max-retries", "0", "--wait")

    assert (done.returncode, done.stderr) == (1, "email is failed\n")
    (attempt,) = shell.lines("jobs", "attempts", done.stdout.strip())
    assert (attempt["outcome"], attempt["error_code"]) == ("failed", "value_error")


def test_every_line_of_stdin_becomes_a_job(shell: Shell) -> None:
    lines = "".join(f'{{"to": "ada{number}@example.com"}}\n' for number in range(250))

    done = shell("enqueue", "email", "-", "--delay", "1h", stdin=lines)

    assert done.returncode == 0, done.stderr
    assert len({int(line) for line in done.stdout.splitlines()}) == 250


def test_a_line_that_is_no_object_is_named_and_stops_no_other(shell: Shell) -> None:
    done = shell("enqueue", "email", "-", "--delay", "1h", stdin=f"{MAIL}\n[1]\n{MAIL}\n")

    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.splitlines() == [
        "error: line 2: must be a JSON object",
        "error: lines refused: 1; the others are enqueued",
    ]


def test_the_payload_may_come_from_a_file(shell: Shell) -> None:
    Path(shell.server.folder, "mail.json").write_text(MAIL)

    done = shell("enqueue", "email", "@mail.json", "--delay", "1h", "--json")

    assert json.loads(done.stdout)["payload"] == json.loads(MAIL)


def test_a_job_is_cancelled_and_redriven(shell: Shell) -> None:
    job_id = shell("enqueue", "email", MAIL, "--delay", "1h").stdout.strip()

    cancelled = shell("jobs", "cancel", job_id)
    redriven = shell("jobs", "redrive", job_id)

    assert cancelled.stdout == f"{job_id} is cancelled\n"
    assert redriven.stdout == f"{job_id} is pending\n"


@pytest.mark.parametrize(("verb", "becomes"), [("cancel", "cancelled"), ("redrive", "pending")])
def test_an_id_that_is_refused_is_named_and_stops_no_other(
    shell: Shell, verb: str, becomes: str
) -> None:
    one, two = (shell("enqueue", "email", MAIL, "--delay", "1h").stdout.strip() for _ in range(2))
    if verb == "redrive":
        shell("jobs", "cancel", one, two)
    completed = shell("enqueue", "email", MAIL, "--wait").stdout.strip()

    done = shell("jobs", verb, one, completed, "999999", two)

    assert done.stdout == f"{one} is {becomes}\n{two} is {becomes}\n"
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [line.split()[1:4] for line in errors] == [
        [f"{completed}:", "409", "conflict;"],
        ["999999:", "404", "not-found;"],
    ]
    assert done.returncode == 5
    assert shell("jobs", verb, "999999", completed).returncode == 3


def test_a_redrive_by_filter_counts_and_needs_yes_where_nobody_can_be_asked(shell: Shell) -> None:
    made = [shell("enqueue", "pdf", "{}", "--delay", "2h").stdout.strip() for _ in range(3)]
    shell("jobs", "cancel", *made)
    where = ("jobs", "redrive", "--status", "cancelled", "--type", "pdf")

    counted = shell(*where, "--dry-run")
    refused = shell(*where, stdin="y\n")
    redriven = shell(*where, "--yes")

    assert counted.stdout == "3\n"
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--yes" in refused.stderr
    assert redriven.stdout == "3\n"


def test_lists_are_tables_for_people_and_lines_for_programs(shell: Shell) -> None:
    table = shell("jobs", "list", "--limit", "1").stdout.splitlines()

    assert table[0].split()[:3] == ["id", "type", "status"]
    assert len(table) == 2
    assert [len(job) for job in shell.lines("jobs", "list", "--limit", "3")] == [22] * 3


def test_the_numbers_name_every_type(shell: Shell) -> None:
    shown = shell("stats").stdout

    assert all(name in shown for name in ("email", "pdf", "sync", "oldest due", "late reports"))
    assert shell.lines("stats")[0]["exact"] is True


@pytest.mark.parametrize(
    ("arguments", "key", "code", "words"),
    [
        (("jobs", "show", "999999"), "ADMIN_KEY", 3, "not-found"),
        (("stats",), "nonsense", 4, "forbidden"),
        (("stats",), "PRODUCER_KEY", 4, "forbidden"),
        (("jobs", "redrive", "1"), "ADMIN_KEY", 5, "conflict"),
        (("enqueue", "nope"), "PRODUCER_KEY", 1, "not on the allowlist"),
        (("enqueue", "email", "{"), "PRODUCER_KEY", 2, "not JSON"),
        (("jobs", "redrive"), "ADMIN_KEY", 2, "name the jobs"),
    ],
)
def test_an_error_has_its_exit_code_and_the_request_that_the_log_knows(
    shell: Shell, arguments: tuple[str, ...], key: str, code: int, words: str
) -> None:
    if code == 5:
        shell("enqueue", "email", MAIL, "--wait")

    done = shell(*arguments, key=key)

    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    if code != 2:
        (request_id,) = [
            line.removeprefix("request: ")
            for line in done.stderr.splitlines()
            if line.startswith("request: ")
        ]
        assert request_id in shell.server.log
