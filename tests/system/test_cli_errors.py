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
from tests.system.cli_scene import STEERING, Here, told


@pytest.mark.parametrize(
    ("command", "key", "code", "error", "hint"),
    [
        ("jobs show 999", "admin", 3, "404 not-found; There is nothing here.", "may not see"),
        ("jobs cancel 999", "producer", 3, "999: 404 not-found", "may not see"),
        ("stats", "nonsense", 4, "403 forbidden", "keys list"),
        ("stats", "producer", 4, "403 forbidden", "keys list"),
        ("enqueue email --priority low", "worker", 4, "403 forbidden", "keys list"),
        ("jobs redrive 2", "admin", 5, "2: 409 conflict", "jobs show ID"),
        ("jobs cancel 1", "admin", 5, "1: 409 conflict", "jobs show ID"),
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
        (
            HttpTransport("http://127.0.0.1:9", 1),
            "GET /stats: connection refused (http://127.0.0.1:9)",
            ["error", "hint"],
        ),
        (lambda _: answer(500, {"code": "x"}), "500 x", ["error", "hint"]),
        (lambda _: answer(502), "502 without a problem document", ["error", "hint"]),
        (
            lambda _: answer(503, {"code": "store-busy", "request_id": "abc"}, retry_after="9"),
            "503 store-busy",
            ["error", "hint", "request"],
        ),
        (lambda _: answer(200, "no object"), "200 ", ["error", "hint"]),
        (lambda _: answer(200, {}), "200 ", ["error", "hint"]),
        (lambda _: answer(500, {"request_id": {"id": 7}}), "500 ", ["error", "hint"]),
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
            eventually(lambda: process.out, "its id is told")
            ended = process.stop(signal.SIGINT)

    assert (ended, process.log.strip(), process.out) == (130, "", "1\n")


def test_the_id_is_told_before_a_wait_that_ends_badly(here: Here) -> None:
    command = ("enqueue", "email", "--delay", "1h", "--wait", "--timeout", "1s")

    plain, as_json = here(*command), here(*command, "--json")

    assert (plain.exit_code, plain.stdout) == (1, "1\n")
    assert plain.stderr == "error: job 1 is still pending\n"
    assert (as_json.exit_code, as_json.stdout) == (1, "")
    assert as_json.stderr == "waits for job 2\nerror: job 2 is still pending\n"


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


def test_when_nobody_answers_any_more_the_jobs_that_are_left_are_not_tried(
    here: Here, api: Api
) -> None:
    complete, asked = here.transport, []

    def goes_away(request: Request) -> Response:
        asked.append(request.path)
        return complete(request) if "999" in request.path else nobody(request)

    here.transport = goes_away
    ended, lines = told(here, "jobs", "cancel", "999", "1", "2")

    errors = [words for name, words in lines if name == "error"]
    assert ended == 3
    assert [words.partition(":")[0] for words in errors] == ["999", "1"]
    assert {*asked} == {"/jobs/999/cancel", "/jobs/1/cancel"}


@pytest.mark.parametrize(
    "command",
    ["jobs list", "jobs export", "jobs tail", "enqueue email", "jobs redrive --status failed"],
)
def test_a_404_without_an_id_is_a_wrong_address(here: Here, command: str) -> None:
    here.transport = lambda _: answer(404)

    ended, lines = told(here, *command.split())

    assert ended == 3
    assert lines[1] == ("hint", "is QUEUELOG_URL right?")
