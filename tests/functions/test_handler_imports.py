"""The handlers without a cloud, in a process of their own."""

import subprocess
import sys
from pathlib import Path

from tests.support.http import ROOT

PROGRAM = """
import pathlib, sys
from functions.job_handlers import handlers
from tests.support.held import held_job
folder = pathlib.Path(sys.argv[1])
(folder / "sync" / "photos").mkdir(parents=True)
run = handlers(folder)
run["email"](held_job("email", {"to": "ada@example.com"}))
run["pdf"](held_job("pdf", {"text": "Hello"}))
run["sync"](held_job("sync", {"source": "photos", "target": "copy"}))
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_without_a_bucket_and_a_sender_everything_is_local_and_boto3_is_not_loaded(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert {"boto3", "botocore", "s3transfer"}.isdisjoint(done.stdout.split())
    made = {path.name for path in tmp_path.rglob("job-*")}
    assert made == {"job-7.eml", "job-7.pdf"}
