"""The handlers that the worker runs, a module per job type. Add yours here.

`handlers(folder)` binds each to where it puts what it makes: a folder, or an S3 bucket and SES.
"""

from functools import partial
from pathlib import Path

from functions.job_handlers import email, pdf, sync
from queuelog_core.worker import Handler


def handlers(
    folder: Path, *, bucket: str | None = None, sender: str | None = None
) -> dict[str, Handler]:
    """Job type to handler. With `sender` emails are sent by SES from that address."""
    return {
        "email": partial(email.run, folder=folder / "outbox", sender=sender),
        "pdf": partial(pdf.run, folder=folder / "pdf", bucket=bucket),
        "sync": partial(sync.run, folder=folder / "sync", bucket=bucket),
    }
