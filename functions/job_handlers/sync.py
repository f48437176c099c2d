"""sync: copies a tree of files from one folder to another, both inside the sync folder.

Payload: {"source", "target"}, relative paths. Links are left out: they could lead outside.
"""

import shutil
from pathlib import Path
from typing import Any

from queuelog_core.worker import HeldJob


def run(job: HeldJob, folder: Path) -> dict[str, Any]:
    """Returns {"files", "bytes"}. Raises ValueError for a path that leads outside the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    source = _inside(folder, job.payload["source"])
    target = _inside(folder, job.payload["target"])
    if not source.is_dir():
        raise FileNotFoundError("the source is not a folder")
    if target.is_relative_to(source):
        raise ValueError("the target lies inside the source")
    files = size = 0
    for path in sorted(source.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        copy = _inside(folder, str(target.relative_to(folder.resolve()) / path.relative_to(source)))
        if copy.is_dir():
            raise IsADirectoryError(f"a folder stands where {copy.name} belongs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
        files += 1
        size += path.stat().st_size
    return {"files": files, "bytes": size}


def _inside(folder: Path, name: object) -> Path:
    root = folder.resolve()
    path = (root / str(name)).resolve()
    if not path.is_relative_to(root):
        raise ValueError("the path leads outside the sync folder")
    return path
