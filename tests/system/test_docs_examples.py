"""The examples of docs/client.md and docs/worker.md: each is run, against a real server."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.identity import Role
from tests.support.http import ROOT
from tests.support.servers import COMMAND, environment, make_key, serving

PAGES = ["client.md", "worker.md"]
SECONDS = 60
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")


class Reader:
    """Somebody who does what a page says, in a folder of their own, beside a server."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self._folder = folder
        path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = environment(**settings, PATH=path)

    def follow(self, text: str) -> None:
        """Run the blocks; those of Python that begin with a file's name are such a file."""
        for kind, block in _BLOCK.findall(text):
            named = _FILE.match(block)
            if kind == "sh":
                self._run("sh", "-eu", "-c", block)
            elif named:
                (self._folder / named.group(1)).write_text(block)
            else:
                self._run(sys.executable, "-W", "error", "-c", block)

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command[-1]}\n{done.stdout}"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server:
        yield Reader(tmp_path, {"QUEUELOG_URL": server.url, "QUEUELOG_API_KEY": key})


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_works(reader: Reader, page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    blocks = _BLOCK.findall(text)

    assert {kind for kind, _ in blocks} <= {"python", "sh"}
    assert len(blocks) >= 3
    assert text.count("```") == 2 * len(blocks)
    reader.follow(text)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nfrom queuelog_core.client import NoSuchThing\n```\n",
        "```python\n# wrong.py\n1 / 0\n```\n```python\nimport wrong\n```\n",
        "```python\n# test_it.py\ndef test_it(): assert 0\n```\n```sh\npython -m pytest\n```\n",
        "```sh\nqueuelog jobs show 99\n```\n",
        "```sh\nfalse\ntrue\n```\n",
    ],
)
def test_an_example_that_does_not_work_is_noticed(reader: Reader, text: str) -> None:
    with pytest.raises(AssertionError):
        reader.follow(text)
