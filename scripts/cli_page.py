"""docs/cli.md, made from the command itself: what each `--help` prints."""

from collections.abc import Iterator

import click

from queuelog_core.cli import main

WIDTH = 100
HEAD = """# The command

<!-- Generated from the command by `make generate`; do not edit. -->

`pip install .` in a clone brings `queuelog` with all that calls a server; `pip install '.[cli]'`
adds colours, tables and progress bars, `pip install '.[server]'` what `serve` needs.

What was asked for goes to stdout, errors and remarks go to stderr. `--json` prints JSON lines.
Colours and progress bars appear on a terminal only; `NO_COLOR=1` turns colours off. An error is one
line, with a hint where one helps, and the id of the request, which the server's log has too:

```text
error: 404 not-found; There is nothing here.
hint: a job that the key may not see is not found either
request: 744a9e7e9b4e946a
```

One of many jobs or lines that is refused is named and stops no other.

| exit code | meaning |
|---|---|
| 0 | ok |
| 1 | it failed: the job, some lines, a check, a setting |
| 2 | wrong use of the command |
| 3 | not found |
| 4 | the key is missing, unknown or may not do this |
| 5 | conflict with the job's state |
| 6 | the server cannot be reached, or cannot do it now |
| 130 | interrupted; commands that go on until Ctrl-C end with 0 |

What deletes or changes many jobs asks first; a script says `--yes`.
"""


def cli_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_sections(main, "queuelog", None)]).rstrip() + "\n"


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    settings = main.context_settings if parent is None else {}
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, **settings
    )
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _sections(found, inner, context)
