"""The handlers that the worker runs, a module per job type. Add yours here.

`handlers(folder)` binds each to the folder that it may write to.
"""

from functools import partial
from pathlib import Path

from functions.job_handlers import email, pdf, sync
from queuelog_core.worker import Handler


def handlers(folder: Path) -> dict[str, Handler]:
    """Job type to handler."""
    return {
        "email": partial(email.run, folder=folder / "outbox"),
        "pdf": partial(pdf.run, folder=folder / "pdf"),
        "sync": partial(sync.run, folder=folder / "sync"),
    }
