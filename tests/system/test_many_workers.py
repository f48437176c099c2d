"""Eight worker processes and one server: each attempt is handed out exactly once."""

import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from queuelog_core.identity import Role
from tests.support.http import ROOT
from tests.support.servers import Server, environment, make_key, serving

WORKERS = 8
JOBS = 400


def test_eight_processes_run_400_jobs_each_exactly_once(tmp_path: Path) -> None:
    root = make_key(tmp_path, "root", Role.ADMIN)
    names = [f"worker-{number}" for number in range(WORKERS)]
    keys = [make_key(tmp_path, name, Role.WORKER) for name in names]
    with serving(tmp_path) as server, ExitStack() as stack:
        for number in range(JOBS):
            server.enqueue(root, type="email", payload={"number": number})
        claimers = [start_claimer(stack, server, key) for key in keys]

        claims = run_to_the_end(claimers)

        jobs = all_jobs(server, root)
    handed_out = Counter(claim for of_one in claims for claim in of_one)
    assert handed_out == {(job["id"], 1): 1 for job in jobs}
    assert len(jobs) == JOBS
    assert {(job["status"], job["attempt"]) for job in jobs} == {("completed", 1)}
    assert all(claims), "every process got some"
    claimed_by = {
        claim[0]: name for name, of_one in zip(names, claims, strict=True) for claim in of_one
    }
    assert claimed_by == {job["id"]: job["worker_id"] for job in jobs}


def start_claimer(stack: ExitStack, server: Server, key: str) -> "subprocess.Popen[str]":
    """A process that is ready to claim and waits for the word."""
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.claimer", server.url, key],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    stack.callback(process.kill)
    assert output(process).readline() == "ready\n"
    return process


def run_to_the_end(claimers: list["subprocess.Popen[str]"]) -> list[list[tuple[int, int]]]:
    """Let all go at once; the (job, attempt) pairs that each of them got."""
    for process in claimers:
        stdin = cast(IO[str], process.stdin)
        stdin.write("go\n")
        stdin.flush()
    printed = [process.communicate(timeout=60)[0] for process in claimers]
    assert [process.returncode for process in claimers] == [0] * len(claimers)
    return [[parse_claim(line) for line in text.splitlines()] for text in printed]


def parse_claim(line: str) -> tuple[int, int]:
    job_id, attempt = line.split()
    return int(job_id), int(attempt)


def output(process: "subprocess.Popen[str]") -> IO[str]:
    return cast(IO[str], process.stdout)


def all_jobs(server: Server, key: str) -> list[Any]:
    jobs: list[Any] = []
    cursor = ""
    while True:
        page = server.call("GET", f"/jobs?limit=200{cursor}", key).json
        jobs += page["jobs"]
        if page["next_cursor"] is None:
            return jobs
        cursor = f"&cursor={page['next_cursor']}"
