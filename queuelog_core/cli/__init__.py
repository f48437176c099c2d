"""The `queuelog` command. What was asked for goes to stdout, errors and remarks to stderr.

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 key, 5 conflict, 6 server.
"""

import click

from queuelog_core import __version__
from queuelog_core.cli.db import db
from queuelog_core.cli.enqueue import enqueue
from queuelog_core.cli.jobs import jobs
from queuelog_core.cli.keys import keys
from queuelog_core.cli.server import serve
from queuelog_core.cli.stats import stats
from queuelog_core.cli.work import work


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="queuelog")
def main() -> None:
    """A background job queue over HTTP that you host yourself."""


for command in (serve, enqueue, jobs, stats, work, keys, db):
    main.add_command(command)
