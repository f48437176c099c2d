"""A cold start pays for every import: Flask, serverless-wsgi, and nothing else of that size."""

import importlib
import json
import subprocess
import sys
from functools import cache

import pytest

from queuelog_core.http.routes import GROUPS
from tests.support.http import ROOT

OURS = {"queuelog_core", "functions"}
LOOK = "import json, sys; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"


@cache
def loaded_by(statement: str) -> frozenset[str]:
    """Top-level modules, those of Python itself aside, that a fresh interpreter has then."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; {LOOK}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return frozenset(json.loads(done.stdout)) - sys.stdlib_module_names


def pins(name: str) -> dict[str, str]:
    """Package to pinned version of a requirements file."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    pinned = (line.partition("==") for line in lines if line and not line.startswith("#"))
    return {package: version for package, _, version in pinned}


BARE = "import flask, serverless_wsgi"
BOTO3 = "import boto3; boto3.client('dynamodb', region_name='eu-west-1')"


def test_what_a_function_is_built_on_is_light() -> None:
    """Click comes with Flask, whatever a function does."""
    bare = loaded_by(BARE)

    assert {"flask", "serverless_wsgi", "click"} <= bare
    assert bare.isdisjoint({"boto3", "botocore", "pydantic", "rich", "urllib3", "waitress"})


@pytest.mark.parametrize("group", GROUPS)
def test_a_function_loads_no_package_besides(group: str) -> None:
    loaded = loaded_by(f"import functions.{group}")

    assert loaded - loaded_by(BARE) == OURS


def test_a_table_takes_what_the_runtime_has_and_no_more() -> None:
    """A function that has a file never pays for it: see above."""
    opened = "open_store('dynamodb://queuelog?region=eu-west-1')"
    of_stores = f"from queuelog_core.stores import open_store; {opened}"

    loaded = loaded_by(f"import functions.claim; {of_stores}")

    assert loaded - loaded_by(BARE) - OURS == loaded_by(BOTO3) - loaded_by(BARE)


@pytest.mark.parametrize(
    ("store", "is_loaded"),
    [
        ("dynamodb://queuelog?region=eu-west-1", True),
        ("dynamodb://queuelog?shards=none", False),
        ("sqlite:///queuelog.db", False),
    ],
)
def test_what_a_table_takes_is_loaded_before_the_first_event(store: str, is_loaded: bool) -> None:
    """Until then a function has a whole processor. A wrong setting is told to each request."""
    setting = f"import os; os.environ['QUEUELOG_STORE'] = {store!r}"

    loaded = loaded_by(f"{setting}; import functions.claim; assert functions.claim.handler")

    assert ("boto3" in loaded) == is_loaded


def test_a_function_loads_neither_client_nor_worker_nor_command_nor_the_redactor() -> None:
    """The rules of the redactor are loaded by the first failure report."""
    modules = subprocess.run(
        [sys.executable, "-c", "import functions.claim, sys; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()

    names = ("client", "worker", "cli", "serve", "demo", "redact", "redact_rules")
    unwanted = {f"queuelog_core.{name}" for name in names}
    assert unwanted.isdisjoint(modules)
    assert "queuelog_core.http.lambda_adapter" in modules


def test_what_goes_into_the_package_has_the_pins_of_the_project() -> None:
    project, packaged = pins("requirements.txt"), pins("infra/lambda-requirements.txt")

    assert packaged
    assert all(packaged.values())
    assert packaged.items() <= project.items()


def test_what_goes_into_the_package_is_what_a_function_loads() -> None:
    packaged = {name.replace("-", "_") for name in pins("infra/lambda-requirements.txt")}

    assert packaged == {"flask", "serverless_wsgi"}
    assert all(importlib.util.find_spec(name) for name in packaged)
