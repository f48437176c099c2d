"""What holds for every command of `queuelog`."""

import pytest

from tests.system.cli_scene import commands

COMMANDS = dict(commands())


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_json_for_programs(path: str) -> None:
    options = {name for option in COMMANDS[path].params for name in option.opts}

    assert "--json" in options


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_shows_an_example_of_itself(path: str) -> None:
    text = COMMANDS[path].help or ""

    assert "Example" in text
    assert f"{path} " in text or f"{path}\n" in text


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_says_in_one_sentence_what_it_does(path: str) -> None:
    assert COMMANDS[path].get_short_help_str(limit=100).endswith(".")
