"""The `queuelog` command. What was asked for goes to stdout, errors and remarks to stderr.

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 key, 5 conflict, 6 server, 130 interrupted.
"""

import sys
from typing import Any

import click

from queuelog_core import __version__
from queuelog_core.cli.completion import completion
from queuelog_core.cli.db import db
from queuelog_core.cli.enqueue import enqueue
from queuelog_core.cli.jobs import jobs
from queuelog_core.cli.keys import keys
from queuelog_core.cli.screen import set_up_stdout
from queuelog_core.cli.server import serve
from queuelog_core.cli.shared import INTERRUPTED, USAGE, fail
from queuelog_core.cli.stats import stats
from queuelog_core.cli.top import top
from queuelog_core.cli.work import work


class Main(click.Group):
    """The command itself, which tells a wrong use in the form of all other errors."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """See click.Command."""
        set_up_stdout()
        try:
            sys.exit(super().main(*arguments, **{**options, "standalone_mode": False}))
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(USAGE)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "queuelog"
            fail(error.format_message(), USAGE, hint=f"{where} --help")
        except click.ClickException as error:
            fail(error.format_message())
        except click.Abort:
            sys.exit(INTERRUPTED)
        except OSError as error:
            # What stdout did not take is lost: its flush at the end would only complain once more.
            sys.stdout = None
            fail(error.strerror or str(error))


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="queuelog")
def main() -> None:
    """A background job queue over HTTP that you host yourself.

    Commands that call a server take QUEUELOG_URL and QUEUELOG_API_KEY from the environment; serve,
    keys and db work on the server's own files.
    """


for command in (serve, enqueue, jobs, stats, top, work, keys, db, completion):
    main.add_command(command)
