"""Commands that look at the queue again and again."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from queuelog_core.identity import Role
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.support.servers import COMMAND, eventually, make_key, running, serving
from tests.system.cli_scene import Here, Shell, between_looks


def test_a_watch_shows_the_numbers_again_and_again(
    here: Here, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_looks(monkeypatch, "stats", api.enqueue)

    told = here.lines("stats", "--watch", "--json")

    assert [numbers["types"]["email"]["pending"] for numbers in told] == [0, 1]
    assert here("stats", "--watch").stdout.count("late reports: 0") == 2


def test_top_shows_what_runs_what_failed_and_how_fast_jobs_are_done(
    here: Here, api: Api, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        api.enqueue()
    failed = api.claim()
    api.report("fail", failed, retryable=False, error_code="smtp_down")

    def work() -> None:
        clock.advance(4)
        api.report("complete", api.claim())
        api.claim()

    between_looks(monkeypatch, "top", work)

    shown = here("top").stdout

    first, second = shown.split("\ndue: ") if shown.startswith("due: ") else ("", "")
    assert "done/s" not in first
    assert second.splitlines()[1].split()[-1] == "done/s"
    (email,) = [line.split() for line in second.splitlines() if line.startswith("email")]
    assert email[-1] == "0.2"  # one in four seconds
    assert "smtp_down" in second
    assert second.count("mailer") == 2


def test_top_for_programs_is_a_line_each_time(here: Here, api: Api) -> None:
    api.enqueue()
    api.claim()

    (line,) = here.lines("top", "--rounds", "1", "--json")

    assert list(line) == ["stats", "running", "failed"]
    assert [job["id"] for job in line["running"]] == [1]


@pytest.mark.parametrize("command", ["stats --watch", "top", "jobs tail -f"])
def test_an_interrupt_is_the_end_of_a_watch_and_no_failure(
    here: Here, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    between_looks(monkeypatch, command.replace("jobs ", "").split()[0], interrupt)

    done = here(*command.split())

    assert (done.exit_code, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("watch")
    key = make_key(folder, "root", Role.ADMIN)
    with serving(folder) as server:
        batch = [{"type": "email", "payload": {"text": "x" * 5000}}] * 100
        assert server.call("POST", "/jobs/batch", key, {"jobs": batch}).status == 200
        yield Shell(server, {"ADMIN_KEY": key})


def test_ctrl_c_ends_watching_commands_quietly(shell: Shell) -> None:
    commands = ("stats --watch", "top", "jobs tail -f")
    with ExitStack() as end:
        watching = [
            end.enter_context(
                running([str(COMMAND), *command.split()], shell.server.folder, shell.environment())
            )
            for command in commands
        ]
        for each in watching:
            eventually(lambda each=each: each.out, "it shows something")  # type: ignore[misc]
        ended = [(each.stop(signal.SIGINT), each.log) for each in watching]

    assert ended == [(0, "")] * 3


@pytest.mark.parametrize("command", ["jobs export", "stats --watch --interval 1s --rounds 5"])
def test_a_reader_that_goes_away_ends_a_command_quietly(shell: Shell, command: str) -> None:
    done = shell.script(f"queuelog {command} | head -1; exit ${{PIPESTATUS[0]}}")

    assert (done.returncode, done.stderr) == (1, "")
    assert len(done.stdout.splitlines()) == 1


def test_so_many_rounds_are_so_many_looks(shell: Shell) -> None:
    told = shell.lines("stats", "--watch", "--interval", "1s", "--rounds", "2")

    assert len(told) == 2
    assert told[0]["as_of"] < told[1]["as_of"]
    assert json.dumps(told[0]["types"]) == json.dumps(told[1]["types"])
