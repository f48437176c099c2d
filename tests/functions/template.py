"""The CloudFormation template that `serverless package` compiles, and how to read it."""

import fcntl
import json
import os
import subprocess
import sysconfig
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.http.routes import GROUPS
from tests.functions.once import made_once
from tests.support.http import ROOT

SERVERLESS = ROOT / "node_modules" / "serverless" / "bin" / "serverless.js"
LINTER = Path(sysconfig.get_path("scripts")) / "cfn-lint"
# The framework names what a function's properties imply once more under DependsOn.
IGNORED = "W3005"
FILE = "cloudformation-template-update-stack.json"
STAGE = "prod"
RESTORED = "queuelog-prod-restored"
MOUNTING = frozenset({*GROUPS, "maintain"})
AUTHORIZING = frozenset(
    {"authorizeReader", "authorizeProducer", "authorizeWorker", "authorizeAdmin"}
)
PACKAGE_SECONDS = 120


class Template:
    """A compiled template. JSON objects keep their order, so its resources have the framework's."""

    def __init__(self, folder: Path, stage: str) -> None:
        self.path = folder / FILE
        self.text = self.path.read_text("utf-8")
        self.document: dict[str, Any] = json.loads(self.text)
        self.resources: dict[str, Any] = self.document["Resources"]
        self._prefix = f"queuelog-{stage}-"

    def of(self, kind: str) -> dict[str, Any]:
        """Logical name to properties of all resources of a kind, of which there must be one."""
        found = {
            name: resource.get("Properties", {})
            for name, resource in self.resources.items()
            if resource["Type"] == f"AWS::{kind}"
        }
        assert found, f"no {kind}"
        return found

    @property
    def functions(self) -> dict[str, Any]:
        """Properties by the name that a function has in infra/*.yml."""
        named = self.of("Lambda::Function").values()
        return {each["FunctionName"].removeprefix(self._prefix): each for each in named}

    def name_at(self, reference: Any) -> str:
        """The name of the function that a reference to its Arn means."""
        arn = self.resources[reference["Fn::GetAtt"][0]]["Properties"]["FunctionName"]
        return str(arn).removeprefix(self._prefix)

    def resource_of(self, function: str) -> Any:
        """The whole resource: its properties, and what it is made after."""
        (found,) = (
            each
            for each in self.resources.values()
            if each.get("Properties", {}).get("FunctionName") == self._prefix + function
        )
        return found

    def environment(self, function: str) -> dict[str, Any]:
        found: dict[str, Any] = self.functions[function]["Environment"]["Variables"]
        return found

    def plain_environment(self, function: str) -> dict[str, str]:
        """The same as a function will see it: what is known at the deployment is some URL."""
        return {
            name: value if isinstance(value, str) else "https://queue.example.com"
            for name, value in self.environment(function).items()
        }


def compiled(
    factory: pytest.TempPathFactory, stage: str = STAGE, *options: str, **settings: str
) -> Template:
    """The template of a stage, compiled once a run."""
    make = partial(_package, stage, options, settings)
    return Template(made_once(factory, "-".join((stage, *options)), make), stage)


def compiled_for_a_table(factory: pytest.TempPathFactory) -> Template:
    """The template of the same stage on DynamoDB, after it has gone back to an instant."""
    options = ("--param=database=dynamodb", f"--param=table={RESTORED}", "--param=shards=4")
    return compiled(factory, STAGE, *options)


def complaints_about(template: Template) -> str:
    """What CloudFormation's linter says; nothing about a template that is to be taken."""
    done = subprocess.run(
        [LINTER, "-i", IGNORED, "-t", template.path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout + done.stderr
    assert said or done.returncode == 0
    return said


def _package(stage: str, options: tuple[str, ...], settings: dict[str, str], folder: Path) -> None:
    """Without credentials, and with packages that hold nothing: they are not looked into."""
    for name in ("api.zip", "drain.zip"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("empty", "")
    # Each works in the one folder .serverless of the repository before it moves to its own.
    with (ROOT / "serverless.yml").open() as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        done = subprocess.run(
            [
                *("node", str(SERVERLESS), "package", "--stage", stage),
                *("--package", str(folder), *options),
                # The offline stage names none: the framework would zip all that lies here.
                *(f"--param={each}Package={folder / each}.zip" for each in ("api", "drain")),
            ],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PACKAGE_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert "Warning" not in done.stdout, done.stdout
