"""The scheduled worker with a handler of a test's own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from queuelog_core.drain import drain_with
from queuelog_core.worker import HeldJob

LONG_SECONDS = 600


def settings_of(url: str, key: str, folder: Path) -> dict[str, str]:
    return {
        "QUEUELOG_URL": url,
        "QUEUELOG_API_KEY": key,
        "QUEUELOG_API_KEY_SECRET": "",
        "QUEUELOG_DRAIN_SECONDS": str(LONG_SECONDS),
        "QUEUELOG_DRAIN_JOB_SECONDS": "30",
        "QUEUELOG_FOLDER": str(folder),
        "QUEUELOG_BUCKET": "",
        "QUEUELOG_SENDER": "",
        "QUEUELOG_LOG_LEVEL": "INFO",
    }


def running(handler: Callable[[HeldJob], Any]) -> Callable[[Any, Any], dict[str, int]]:
    """A cold function whose handler for emails this is."""

    def load(folder: Path, **places: str | None) -> Mapping[str, Any]:
        return {"email": handler}

    return drain_with(load)


def did(**outcomes: int) -> dict[str, int]:
    return {"completed": 0, "failed": 0, "released": 0, "lost": 0, **outcomes}
