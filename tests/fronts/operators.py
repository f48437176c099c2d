"""Somebody who does what docs/operations.md says, in a shell whose `aws` calls the emulator."""

import json
import os
import re
import shlex
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.cloud import Cloud
from tests.support.http import ROOT

SECONDS = 60
DEFINING = "Back up and restore there"
"""Its first block defines what the others use."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)\n^```$", re.MULTILINE | re.DOTALL)
_STAMP = re.compile(r"\d{8}T\d{6}\.\d{3}Z")


def blocks_of(section: str) -> list[tuple[str, str]]:
    """Kind and text of each block of a section."""
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    (text,) = re.findall(rf"^## {section}\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    return _BLOCK.findall(text)


class Operator:
    """Somebody with a terminal who pastes the blocks of a section, one after the other. `path` is
    where `aws` is found."""

    def __init__(self, emulator: Cloud, folder: Path, path: Path, section: str) -> None:
        ((_, definitions), *others) = blocks_of(DEFINING)
        self._blocks = others if section == DEFINING else blocks_of(section)
        self._definitions = definitions.replace("queuelog-prod", f"queuelog-{emulator.stage}")
        self._emulator, self._folder = emulator, folder
        self._environment = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}

    def paste(self, **changes: str) -> Any:
        """The next block, with other words in the place of some. What it prints looks as the
        document shows right below, where it does."""
        kind, block = self._blocks.pop(0)
        assert kind == "sh"
        printed = self.type(block, **changes)
        if self._blocks and self._blocks[0][0] == "text":
            _, shown = self._blocks.pop(0)
            assert look(printed) == look(json.loads(shown))
        return printed

    def type(self, block: str, **changes: str) -> Any:
        """Run a block in a shell in which the definitions were pasted."""
        for old, new in changes.items():
            assert old in block
            block = block.replace(old, new)
        block = self._here(block)
        done = subprocess.run(
            ["sh", "-eu", "-c", f"{self._definitions}\n{block}"],
            capture_output=True,
            check=False,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SECONDS,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{block}\n{done.stderr}"
        return json.loads(done.stdout) if done.stdout else None

    def deploy(self) -> None:
        """The next block is `make deploy`, which in the emulator has the emulator's parameters
        too."""
        _, block = self._blocks.pop(0)
        make, deploy, stage, *more = shlex.split(block)
        assert (make, deploy, stage) == ("make", "deploy", "STAGE=prod")
        asked = " ".join(more).removeprefix("PARAMS=")
        self._emulator.deploy("--built", *self._here(asked).split())
        self._emulator.stop_schedules()

    @property
    def is_done(self) -> bool:
        return not self._blocks

    def concurrency(self) -> dict[str, int | None]:
        """What is reserved for each function."""
        with closing(self._emulator.client("lambda")) as client:
            names = [each["FunctionName"] for each in client.list_functions()["Functions"]]
            told = {name: client.get_function_concurrency(FunctionName=name) for name in names}
        prefix = f"queuelog-{self._emulator.stage}-"
        return {
            name.removeprefix(prefix): each.get("ReservedConcurrentExecutions")
            for name, each in told.items()
            if name.startswith(prefix)
        }

    def _here(self, text: str) -> str:
        """With the names of the stage that the emulator has."""
        return text.replace("queuelog-prod", f"queuelog-{self._emulator.stage}")


def look(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without its instants, and without how many of a kind there are."""
    names = {key: each if isinstance(each, list) else [each] for key, each in answer.items()}
    return {key: {_STAMP.sub("…", str(name)) for name in each} for key, each in names.items()}
