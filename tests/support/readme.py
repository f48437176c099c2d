"""The shell blocks of a README, run as a reader would paste them."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

from tests.support.servers import Server

_BLOCK = re.compile(r"^( *)```sh *\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)
_MAKE = re.compile(r"make [a-z-]+")
_MARK = "~~~ block "
# The stored text of a problem document, however the reader's command prints it.
_PROBLEM = re.compile(r'urn:queuelog:problem|"code" *: *"')
RUN = "make run"
BLOCK_SECONDS = 60


def shell_blocks(text: str) -> list[str]:
    """What stands in fences marked `sh`; other fences show what nobody should run."""
    return [textwrap.dedent(block).strip() for _, block in _BLOCK.findall(text)]


def run_blocks(blocks: list[str], server: Server) -> dict[int, str]:
    """Run the blocks in one shell, in the folder of a running server, and give what each printed.

    A block that is a call of make alone is left out: `make run` is what the server is, the others
    would run these tests again. One shell, for a later block may use a variable of an earlier one.
    """
    numbered = {n: block for n, block in enumerate(blocks, 1) if not _MAKE.fullmatch(block)}
    script = "".join(f"echo; echo '{_MARK}{n}'\n{block}\n" for n, block in numbered.items())
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=server.folder,
        env=_reader(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BLOCK_SECONDS,
        check=False,
    )
    parts = re.split(rf"\n{_MARK}(\d+)\n", done.stdout)
    printed = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    last = max(printed, default=0)
    assert done.returncode == 0, f"block {last} of the README ends with an error:\n{printed[last]}"
    for number, output in printed.items():
        assert not _PROBLEM.search(output), f"block {number} of the README is refused:\n{output}"
    assert list(printed) == list(numbered)
    return printed


def _reader() -> dict[str, str]:
    """A new terminal: nothing of the tests' own environment but where programs lie."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}


def read_blocks(path: Path) -> list[str]:
    return shell_blocks(path.read_text("utf-8"))
