"""A copy of this work tree in a folder of its own, in which `make run` needs no download."""

import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.http import ROOT
from tests.support.servers import Server, environment, running

# Stands where pip would: it notes what it was asked for and installs nothing but the command.
_PIP = """
import sys
from pathlib import Path

bin = Path(".venv/bin").absolute()
with Path("pip.log").open("a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
command = bin / "queuelog"
# A shebang cannot hold a blank, so pip too lets a shell find the interpreter.
command.write_text(f'''#!/bin/sh
\\'\\'\\'exec' "{bin}/python" "$0" "$@"
' \\'\\'\\'
import sys
from queuelog_core.cli import main
sys.exit(main())
''')
command.chmod(0o755)
"""


def copy_of_work_tree(folder: Path) -> Path:
    """What a clone would hold, with what is not committed yet; the tests are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", "--", ".", ":!tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def checkout(folder: Path) -> Path:
    """A copy with a .venv that finds the tests' packages, the copy's queuelog before them."""
    copy_of_work_tree(folder)
    venv.create(folder / ".venv", symlinks=True)
    [packages] = (folder / ".venv" / "lib").glob("python*/site-packages")
    (packages / "pip").mkdir()
    (packages / "pip" / "__init__.py").touch()
    (packages / "pip" / "__main__.py").write_text(_PIP, "utf-8")
    found = f"{folder}\n{sysconfig.get_path('purelib')}\n"
    (packages / "tests.pth").write_text(found, "utf-8")
    return folder


@contextmanager
def make_run(folder: Path, *arguments: str, **settings: str) -> Iterator[Server]:
    """`make run` in a terminal of its own, once the server answers."""
    # As a reader's shell has it: nothing of this project is found but what lies in the folder.
    env = environment(**settings)
    for name in ("PYTHONPATH", "QUEUELOG_JOB_TYPES", "MAKEFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    env["PIP_NO_INDEX"] = "1"
    with running(["make", "run", *arguments], folder, env) as server:
        yield server.wait_until_ready()
