"""sync: copies a tree of files from one folder to another, both inside the sync folder; with a
bucket from one prefix to another, both inside the bucket's `sync/`.

Payload: {"source", "target"}, relative paths. Links are left out: they could lead outside.
"""

import shutil
from pathlib import Path
from typing import Any

from functions.job_handlers.aws import client
from queuelog_core.worker import Discard, HeldJob


def run(job: HeldJob, folder: Path, bucket: str | None = None) -> dict[str, Any]:
    """Returns {"files", "bytes"}. Raises ValueError for a path that leads outside. In a bucket it
    stops in the middle when it is asked to; what was copied stays."""
    if bucket is not None:
        return _between_prefixes(job, bucket)
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


def _between_prefixes(job: HeldJob, bucket: str) -> dict[str, Any]:
    source, target = _prefix(job.payload["source"]), _prefix(job.payload["target"])
    if target.startswith(source):
        raise ValueError("the target lies inside the source")
    s3 = client("s3")
    files = size = 0
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=source):
        for found in page.get("Contents", ()):
            if job.lost or job.cancel_requested:
                raise Discard("cancelled", "stopped on request")
            copy = target + found["Key"].removeprefix(source)
            s3.copy({"Bucket": bucket, "Key": found["Key"]}, bucket, copy)
            files += 1
            size += found["Size"]
    if not files:
        raise FileNotFoundError("the source is not a folder")
    return {"files": files, "bytes": size}


def _prefix(name: object) -> str:
    """A folder of a bucket, in the sync folder like a local one."""
    parts = [part for part in str(name).split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise ValueError("the path leads outside the sync folder")
    return "/".join(["sync", *parts, ""])
