"""`queuelog completion`: what a shell needs to complete the command."""

import click
from click.shell_completion import get_completion_class

from queuelog_core.cli.screen import json_line
from queuelog_core.cli.shared import json_option


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option("Print {shell, script}.")
@click.pass_context
def completion(context: click.Context, shell: str, as_json: bool) -> None:
    """Print the completion script of a SHELL.

    \b
    Examples:
      queuelog completion bash > queuelog.bash
      queuelog completion fish > queuelog.fish

    Source it in ~/.bashrc or ~/.zshrc; fish reads it from ~/.config/fish/completions.
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(context.find_root().command, {}, "queuelog", "_QUEUELOG_COMPLETE").source()
    click.echo(json_line({"shell": shell, "script": script}) if as_json else script)
