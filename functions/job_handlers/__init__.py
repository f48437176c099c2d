"""The handlers that the worker runs, a module per job type. Add yours here.

`handlers(folder)` binds each to the folder that it may write to.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from functions.job_handlers import email, pdf, sync


def handlers(folder: Path) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    """Job type to handler."""
    return {
        "email": partial(email.run, folder=folder / "outbox"),
        "pdf": partial(pdf.run, folder=folder / "pdf"),
        "sync": partial(sync.run, folder=folder / "sync"),
    }
