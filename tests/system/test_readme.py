"""The README keeps its word: its shell blocks are run, and nothing in them is refused."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkout import checkout, make_run
from tests.support.http import ROOT
from tests.support.readme import RUN, read_blocks, run_blocks, shell_blocks
from tests.support.servers import Server, eventually

ENQUEUE = """. .queuelog/demo.env
curl -s "$QUEUELOG_URL/jobs" -H "X-API-Key: $PRODUCER_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"type": "email", "payload": {"to": "ada@example.com"}}'"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """What the first block of the README starts, with a free port from the environment."""
    folder = checkout(tmp_path_factory.mktemp("readme") / "a folder")
    with make_run(folder, PORT="0") as server:
        yield server


def jobs(server: Server) -> list[Any]:
    answer = server.call("GET", "/jobs?limit=200", server.demo_keys()["ADMIN_KEY"])
    found: list[Any] = answer.json["jobs"]
    return found


def test_the_readme_starts_with_make_run_and_shows_how_to_test() -> None:
    blocks = read_blocks(ROOT / "README.md")

    assert blocks[:1] == [RUN]
    assert "make test" in blocks
    assert any("curl" in block for block in blocks)


def test_the_shell_blocks_of_the_readme_work_and_their_jobs_run(running: Server) -> None:
    known = {job["id"] for job in jobs(running)}

    run_blocks(read_blocks(ROOT / "README.md"), running)

    def made() -> list[Any]:
        return [job for job in jobs(running) if job["id"] not in known]

    eventually(
        lambda: any(job["status"] == "completed" for job in made()), "a job of the README completed"
    )
    assert [(job["id"], job["error"]) for job in made() if job["error_code"]] == []


def test_only_blocks_marked_as_shell_are_run() -> None:
    text = (
        "```sh\none\n```\n```text\ntwo\n```\n- in a list\n  ```sh\n  three\n  ```\n```\nfour\n```\n"
    )

    blocks = shell_blocks(text)

    assert blocks == ["one", "three"]


def test_a_block_may_use_what_an_earlier_one_has_set(running: Server) -> None:
    listed = 'curl -s "$QUEUELOG_URL/jobs?limit=1" -H "X-API-Key: $PRODUCER_KEY"'

    printed = run_blocks([RUN, ENQUEUE, "make test", listed], running)

    assert list(printed) == [2, 4]
    assert '"type":"email"' in printed[4]


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("cat no-such-file", "block 2 of the README ends with an error"),
        ("echo $NO_SUCH_VARIABLE", "block 2 of the README ends with an error"),
        (ENQUEUE.replace('"email"', '"letter"'), "block 2 of the README is refused"),
        (ENQUEUE.replace("PRODUCER_KEY", "WORKER_KEY"), "block 2 of the README is refused"),
        (ENQUEUE + " -o /dev/null\nfalse", "block 2 of the README ends with an error"),
    ],
)
def test_a_block_that_does_not_work_is_noticed(running: Server, block: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run_blocks([RUN, block], running)


def test_the_readme_names_only_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text("utf-8")

    assert missing_links(text, ROOT) == []
    assert missing_links("[a](docs/no-such.md) [b](https://example.com) [c](#d)", ROOT) == [
        "docs/no-such.md"
    ]


def missing_links(text: str, root: Path) -> list[str]:
    """Relative targets of links and pictures that lead nowhere."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [name for name in targets if "://" not in name and not (root / name).exists()]
