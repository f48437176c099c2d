"""What is dear to make is made once a run, whichever of pytest's processes asks first."""

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` filled. Other processes wait for it and then use the same one."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fresh = Path(tempfile.mkdtemp(dir=shared))
            make(fresh)
            fresh.rename(folder)
    return folder
