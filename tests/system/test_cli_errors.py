"""How the command ends when something is wrong: one line, a hint, the request, the exit code."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from queuelog_core.client import NoAnswer, Request, Response
from queuelog_core.client.transport import HttpTransport
from queuelog_core.errors import StoreBusy
from queuelog_core.http.in_process import in_process
from queuelog_core.identity import Role
from queuelog_core.stores import Store
from tests.client.scripted import answer
from tests.support.factories import FakeClock
from tests.support.http import Api, failing
from tests.support.servers import COMMAND, environment, eventually, make_key, running, serving
from tests.system.cli_scene import STEERING, Here


def told(here: Here, *command: str, key: str = "admin") -> tuple[int, list[tuple[str, str]]]:
    """The exit code, and the name and the words of each line of stderr; stdout stays empty."""
    done = here(*command, key=key)
    assert done.stdout == ""
    assert done.stderr.replace("\n", "").isprintable()
    lines = [line.partition(": ") for line in done.stderr.splitlines()]
    return done.exit_code, [(name, words) for name, _, words in lines]


@pytest.mark.parametrize(
    ("command", "key", "code", "error", "hint"),
    [
        ("jobs show 999", "admin", 3, "404 not-found; There is nothing here.", "may not see"),
        ("jobs cancel 999", "producer", 3, "404 not-found", "may not see"),
        ("stats", "nonsense", 4, "403 forbidden", "keys list"),
        ("stats", "producer", 4, "403 forbidden", "keys list"),
        ("enqueue email --priority low", "worker", 4, "403 forbidden", "keys list"),
        ("jobs redrive 2", "admin", 5, "409 conflict", "jobs show ID"),
        ("jobs cancel 1", "admin", 5, "409 conflict", "jobs show ID"),
    ],
)
def test_an_error_is_a_line_with_a_hint_and_the_request(
    here: Here, api: Api, command: str, key: str, code: int, error: str, hint: str
) -> None:
    api.enqueue()
    api.report("complete", api.claim())
    api.enqueue()

    ended, lines = told(here, *command.split(), key=key)

    assert ended == code
    assert [name for name, _ in lines] == ["error", "hint", "request"]
    assert lines[0][1].startswith(error)
    assert hint in lines[1][1]
    assert len(lines[2][1]) == 16


def test_a_refused_body_names_what_is_wrong_and_needs_no_hint(here: Here) -> None:
    ended, lines = told(here, "enqueue", "nope")

    assert ended == 1
    assert [name for name, _ in lines] == ["error", "request"]
    assert "type: This type is not on the allowlist" in lines[0][1]


def test_a_key_of_another_request_is_an_error(here: Here) -> None:
    here("enqueue", "email", "--idempotency-key", "x")

    ended, lines = told(here, "enqueue", "pdf", "--idempotency-key", "x")

    assert ended == 1
    assert "The key names a job of another request." in lines[0][1]


def test_a_payload_that_is_too_large_belongs_elsewhere(here: Here, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_text('{"text": "%s"}' % ("x" * 1_100_000))

    ended, lines = told(here, "enqueue", "email", f"@{path}")

    assert ended == 1
    assert [name for name, _ in lines] == ["error", "hint", "request"]
    assert "enqueue a reference" in lines[1][1]


def nobody(_request: Request) -> Response:
    raise NoAnswer("ConnectionError")


@pytest.mark.parametrize(
    ("transport", "error", "names"),
    [
        (nobody, "GET /stats: ConnectionError", ["error", "hint"]),
        (HttpTransport("http://127.0.0.1:9", 1), "GET /stats: ", ["error", "hint"]),
        (lambda _: answer(500, {"code": "x"}), "500 x", ["error", "hint"]),
        (lambda _: answer(502), "502 without a problem document", ["error", "hint"]),
        (
            lambda _: answer(503, {"code": "store-busy", "request_id": "abc"}, retry_after="9"),
            "503 store-busy",
            ["error", "hint", "request"],
        ),
        (lambda _: answer(200, "no object"), "200 ", ["error", "hint"]),
    ],
)
def test_a_server_that_is_away_or_cannot_do_it_is_exit_code_6(
    here: Here, transport: Callable[[Request], Response], error: str, names: list[str]
) -> None:
    here.transport = transport

    ended, lines = told(here, "stats")

    assert ended == 6
    assert lines[0][1].startswith(error)
    assert [name for name, _ in lines] == names


def test_a_busy_store_is_exit_code_6_with_the_request(
    here: Here, store: Store, clock: FakeClock
) -> None:
    busy = Api(failing(store, StoreBusy("it is locked"), "insert"), clock)
    here.transport = in_process(busy.client.application)

    ended, lines = told(here, "enqueue", "email", key="producer")

    assert ended == 6
    assert [name for name, _ in lines] == ["error", "hint", "request"]
    assert "locked" not in str(lines)


def test_what_a_server_says_stays_on_its_line_and_steers_no_terminal(here: Here) -> None:
    problem = {"code": STEERING, "detail": STEERING, "request_id": STEERING}
    here.transport = lambda _: answer(418, problem)

    ended, lines = told(here, "stats")

    assert ended == 1
    assert [name for name, _ in lines] == ["error", "request"]


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["nonsense"], "queuelog --help"),
        (["stats", "--nonsense"], "queuelog stats --help"),
        (["stats", "--interval", "1"], "queuelog stats --help"),
        (["jobs", "show"], "queuelog jobs show --help"),
        (["jobs", "show", "one"], "queuelog jobs show --help"),
        (["jobs", "list", "--status", STEERING], "queuelog jobs list --help"),
        (["jobs", "list", "--created-after", "2026-11-29"], "queuelog jobs list --help"),
        (["jobs", "redrive"], "queuelog jobs redrive --help"),
        (["jobs", "redrive", "1", "--dry-run"], "queuelog jobs redrive --help"),
        (["jobs", "import", "no-such-file"], "queuelog jobs import --help"),
        (["enqueue", "email", "@no-such-file"], "queuelog enqueue --help"),
        (["enqueue", "email", "{"], "queuelog enqueue --help"),
        (["enqueue", "email", '{"a":' * 990 + "1" + "}" * 990], "queuelog enqueue --help"),
        (["enqueue", "email", "-", "--wait"], "queuelog enqueue --help"),
        (["enqueue", "\udcff"], "queuelog enqueue --help"),
        (["enqueue", "email", "\udcff"], "queuelog enqueue --help"),
        (["jobs", "list", "--type", "\udcff"], "queuelog jobs list --help"),
        (["keys", "create", "shop"], "queuelog keys create --help"),
        (["completion", "csh"], "queuelog completion --help"),
    ],
)
def test_a_wrong_use_is_told_like_all_other_errors(
    here: Here, command: list[str], hint: str
) -> None:
    ended, lines = told(here, *command)

    assert ended == 2
    assert [name for name, _ in lines] == ["error", "hint"]
    assert lines[1][1] == hint


@pytest.mark.parametrize("command", [(), ("jobs",), ("keys",), ("db",)])
def test_a_group_alone_shows_what_there_is(here: Here, command: tuple[str, ...]) -> None:
    done = here(*command)

    assert done.exit_code == 2
    assert done.stderr.startswith(" ".join(("Usage: queuelog", *command)))


def test_a_question_without_an_answer_changes_nothing(here: Here, api: Api) -> None:
    job = api.enqueue()
    api.call("POST", f"/jobs/{job['id']}/cancel")

    ended, lines = told(here, "jobs", "redrive", "--status", "cancelled")

    assert (ended, lines[0]) == (2, ("error", "nobody can be asked here: say --yes"))
    assert api.get(job)["status"] == "cancelled"


def test_an_interrupt_is_130(tmp_path: Path) -> None:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server:
        settings = environment(QUEUELOG_URL=server.url, QUEUELOG_API_KEY=key)
        command = [str(COMMAND), "enqueue", "email", "{}", "--delay", "1h", "--wait"]
        with running(command, tmp_path, settings) as process:
            made = "/jobs/1", key
            eventually(lambda: server.call("GET", *made).status == 200, "the job is there")
            ended = process.stop(signal.SIGINT)

    assert (ended, process.log.strip(), process.out) == (130, "", "")


def test_no_key_at_all_ends_like_a_key_that_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "stats"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "error: set QUEUELOG_API_KEY, or hand a key to the client\n"


@pytest.mark.parametrize("command", ["enqueue email -", "db purge --older-than 1d"])
def test_a_stdin_that_is_closed_is_told_in_a_line(tmp_path: Path, command: str) -> None:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server:
        done = subprocess.run(
            ["sh", "-c", f"{COMMAND} {command} <&-"],
            cwd=tmp_path,
            env=environment(QUEUELOG_URL=server.url, QUEUELOG_API_KEY=key),
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
