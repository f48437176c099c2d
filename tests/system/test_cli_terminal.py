"""The command on a terminal: colours, progress, questions, and nothing that data could steer."""

import json
import re
import signal
from pathlib import Path

import pytest

from tests.support.http import ROOT
from tests.system.cli_scene import STEERING, Screen

ESCAPED = r"\x7f\r\nnext\u202e"
"""What is left of it in an error text, from which the server drops what colours a terminal."""
RAW = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202e]|\x1b\\]|\x1b\\[31mred|\nnext"
)


@pytest.fixture
def without_rich(tmp_path: Path) -> dict[str, str]:
    """Settings under which the library that draws is not there."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise ImportError('rich is not installed')")
    return {"PYTHONPATH": f"{tmp_path}:{ROOT}"}


def test_a_table_has_colours_on_a_terminal_and_nowhere_else(screen: Screen) -> None:
    drawn = screen("jobs", "list", "--status", "failed")
    piped = screen("jobs", "list", "--status", "failed", piped=True)
    plain = screen("jobs", "list", "--status", "failed", settings={"NO_COLOR": "1"})

    assert "\x1b[31mfailed" in drawn.screen
    assert (piped.code, piped.screen) == (0, "")
    assert piped.out.splitlines()[0].split()[:3] == ["id", "type", "status"]
    assert "\x1b" not in piped.out
    assert "failed" in plain.screen
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain.screen)


def test_a_narrow_terminal_cuts_nothing_off(screen: Screen) -> None:
    seen = screen("jobs", "attempts", "1", columns=50)

    assert seen.code == 0
    assert "…" not in seen.screen
    letters = "".join(sorted("".join(seen.lines)))
    assert letters.count("Z") == 2


@pytest.mark.parametrize(
    "command", ["jobs show 1", "jobs attempts 1", "jobs show 1 --json", "jobs export"]
)
def test_data_never_steers_a_terminal(screen: Screen, command: str) -> None:
    seen = screen(*command.split())

    text = seen.screen
    assert seen.code == 0
    assert not RAW.search(text), ascii(text)
    is_json = "--json" in command or "export" in command
    shown = json.dumps(STEERING)[1:-1] if is_json else ESCAPED
    assert shown in text.replace("\r\n", "")


@pytest.mark.parametrize("piped", [False, True])
def test_many_jobs_are_enqueued_under_a_bar_that_stdout_knows_nothing_of(
    screen: Screen, piped: bool
) -> None:
    seen = screen("enqueue", "email", "-", "--delay", "1h", fed="{}\n" * 150, piped=piped)

    lines = seen.out.splitlines() if piped else seen.lines
    assert seen.code == 0
    assert "enqueued 0/150" in seen.screen
    assert len({int(line) for line in lines if line.isdecimal()}) == 150


@pytest.mark.parametrize("piped", [False, True])
def test_an_export_stays_json_under_its_bar(screen: Screen, piped: bool) -> None:
    seen = screen("jobs", "export", "--limit", "1", piped=piped)

    lines = seen.out.splitlines() if piped else seen.lines
    assert "exported 0/1" in seen.screen
    assert any(map(is_job, lines)), lines


def is_job(line: str) -> bool:
    try:
        return bool(json.loads(line)["id"] == 1)
    except ValueError:
        return False


def test_a_drain_shows_how_many_are_done(screen: Screen) -> None:
    screen.shell("enqueue", "sync", "-", stdin="{}\n" * 3)

    seen = screen("work", "own:worker", "--drain", "--json", piped=True)

    assert seen.code == 0, seen.screen
    assert json.loads(seen.out) == {"completed": 3, "failed": 0, "released": 0, "lost": 0}
    assert "done 0" in seen.screen


@pytest.mark.parametrize("command", ["jobs list", "top --rounds 1", "jobs export"])
def test_without_the_library_that_draws_a_terminal_gets_plain_text(
    screen: Screen, without_rich: dict[str, str], command: str
) -> None:
    seen = screen(*command.split(), settings=without_rich)

    assert seen.code == 0
    assert seen.screen
    assert "\x1b" not in seen.screen
    assert "Traceback" not in seen.screen


def test_without_the_library_that_draws_many_jobs_are_enqueued_all_the_same(
    screen: Screen, without_rich: dict[str, str]
) -> None:
    command = ("enqueue", "email", "-", "--delay", "1h")

    seen = screen(*command, settings=without_rich, fed="{}\nx\n{}\n")

    told = seen.screen.splitlines()
    assert seen.code == 1
    assert len([line for line in told if line.isdecimal()]) == 2
    assert sum("line 2: " in line for line in told) == 1
    assert told[-1] == "error: lines refused: 1; the others are enqueued"


def test_a_line_that_is_refused_is_told_above_the_bar(screen: Screen) -> None:
    command = ("enqueue", "email", "-", "--delay", "1h")

    seen = screen(*command, fed="{}\nx\n{}\n", piped=True)

    assert sum(line.startswith("error: line 2: is not JSON") for line in seen.lines) == 1
    assert len(seen.out.splitlines()) == 2


@pytest.mark.parametrize("command", ["jobs list", "top --rounds 1", "stats"])
def test_a_terminal_that_can_only_print_gets_plain_text(screen: Screen, command: str) -> None:
    seen = screen(*command.split(), settings={"TERM": "dumb"})

    assert seen.code == 0
    assert "email" in seen.screen
    assert "\x1b" not in seen.screen


def test_what_people_search_for_stays_on_one_line_of_eighty_columns(screen: Screen) -> None:
    time = r"2\d{3}-\d\d-\d\d \d\d:\d\d:\d\dZ"

    listed = screen("jobs", "list", "--status", "failed", columns=80)
    tried = screen("jobs", "attempts", "1", columns=80)

    assert any(re.match(rf"1 .* failed .*{time}", line) for line in listed.lines), listed.lines
    assert any(re.search(rf"{time} +{time} +failed", line) for line in tried.lines), tried.lines
    assert max(map(len, listed.lines + tried.lines)) <= 80


def test_an_end_from_outside_leaves_a_terminal_as_it_was(screen: Screen) -> None:
    seen = screen("top", interrupted_after="email", by=signal.SIGTERM)

    assert seen.code == 143
    assert "Traceback" not in seen.screen
    assert seen.screen.count("\x1b[?1049h") == seen.screen.count("\x1b[?1049l") == 1
    assert seen.screen.count("\x1b[?25l") == seen.screen.count("\x1b[?25h")


@pytest.mark.parametrize("command", ["top", "jobs tail -f", "stats --watch"])
def test_ctrl_c_leaves_a_terminal_as_it_was(screen: Screen, command: str) -> None:
    seen = screen(*command.split(), interrupted_after="email")

    assert seen.code == 0
    assert "Traceback" not in seen.screen
    assert seen.screen.count("\x1b[?1049h") == seen.screen.count("\x1b[?1049l")
    assert seen.screen.count("\x1b[?25l") == seen.screen.count("\x1b[?25h")
