"""`make deploy STAGE=prod`: builds, deploys and, the first time, makes the keys of a stage.

    python -m scripts.deploy STAGE [--region R] [--source-only | --built] [NAME=VALUE …]

Each NAME=VALUE is a parameter of serverless.yml; with --built the packages of the last build are
deployed as they are. Credentials are the AWS tools' own. Run again it deploys again and leaves the
keys alone.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from queuelog_core.clock import SystemClock
from queuelog_core.errors import ConfigError, NoKey
from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.key_registry import KeyRegistry, open_registry
from queuelog_core.key_registry.secret import put_secret_text, secret_text
from scripts.build_lambda import RUNTIME

ROOT = Path(__file__).parent.parent
SERVERLESS = ROOT / "node_modules" / "serverless" / "bin" / "serverless.js"
REGION = "eu-west-1"
NO_FUNCTION = "ResourceNotFoundException"
CHOICES = {"concurrency": ["reserved", "unreserved"], "database": ["sqlite", "dynamodb"]}


def main() -> None:
    options = argparse.ArgumentParser(prog="deploy", description=__doc__)
    options.add_argument("stage")
    options.add_argument("--region", default=region_of_the_environment())
    packages = options.add_mutually_exclusive_group()
    packages.add_argument("--source-only", action="store_true")
    packages.add_argument("--built", action="store_true")
    options.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    # Parameters may stand on either side of options.
    asked = options.parse_intermixed_args()
    if asked.stage == "offline":
        raise SystemExit("deploy: offline is the stage of `make offline`: choose another name")
    given = dict(map(parameter, asked.parameters))
    os.environ["AWS_DEFAULT_REGION"] = asked.region
    refuse_to_leave_jobs_behind(asked.stage, given)
    if not asked.built:
        build(given.get("runtime", RUNTIME), asked.source_only)
    named = [f"--param={text}" for text in asked.parameters]
    where = ("--stage", asked.stage, "--region", asked.region)
    # Also where nothing has changed: after a restore it is what ends functions that are warm.
    run("node", str(SERVERLESS), "deploy", "--force", *where, *named)
    try:
        make_first_keys(asked.stage, asked.region)
    except ConfigError as error:
        raise SystemExit(f"deploy: the keys could not be made: {error}") from error


def region_of_the_environment() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION


def parameter(text: str) -> tuple[str, str]:
    """Name and value; the framework takes unknown names without a word."""
    name, equals, value = text.partition("=")
    defaults = (ROOT / "serverless.yml").read_text("utf-8").partition("  default:")[2]
    known = re.findall(r"^    (\w+):", defaults.partition("  offline:")[0], re.MULTILINE)
    if not equals or name not in known:
        raise SystemExit(f"deploy: {text} is none of {', '.join(known)} with a value")
    if value not in CHOICES.get(name, [value]):
        raise SystemExit(f"deploy: {name} is {' or '.join(CHOICES[name])}")
    return name, value


def refuse_to_leave_jobs_behind(stage: str, given: Mapping[str, str]) -> None:
    """A parameter that was forgotten must not make a stage begin anew somewhere else."""
    said = {**written(stage), **given}
    wanted = {"database": "sqlite", "table": f"queuelog-{stage}", **said}
    for name, value in place_of_jobs(stage).items():
        if wanted[name] == value:
            continue
        if name in said:
            return
        raise SystemExit(
            f"deploy: the jobs of {stage} lie where {name}={value} says, and would be left there.\n"
            f"Write that into serverless.yml or PARAMS, or {name}={wanted[name]} if it is meant"
        )


def written(stage: str) -> dict[str, str]:
    """What serverless.yml says for this stage of where its jobs lie."""
    text = re.sub(r"#.*", "", (ROOT / "serverless.yml").read_text("utf-8"))
    blocks = re.findall(rf"^  {re.escape(stage)}:(.*(?:\n(?:    .*| *))*)", text, re.MULTILINE)
    return dict(re.findall(r"\b(database|table): *['\"]?([\w.-]+)", "".join(blocks)))


def place_of_jobs(stage: str) -> dict[str, str]:
    """The parameters that tell where the jobs of a stage lie, as it is deployed now."""
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client = boto3.client("lambda")
        found = client.get_function_configuration(FunctionName=f"queuelog-{stage}-enqueue")
    except (BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and error.response["Error"]["Code"] == NO_FUNCTION:
            return {}
        raise SystemExit(
            f"deploy: nobody can tell where the jobs of {stage} lie: {error}"
        ) from error
    store = urlsplit(found["Environment"]["Variables"]["QUEUELOG_STORE"])
    if store.scheme == "dynamodb":
        return {"database": "dynamodb", "table": store.netloc}
    return {"database": "sqlite"}


def build(runtime: str, source_only: bool) -> None:
    """Into the folder where serverless.yml looks."""
    out = os.environ.get("QUEUELOG_BUILD") or "build"
    how = ["--source-only"] if source_only else []
    run(sys.executable, "-m", "scripts.build_lambda", "--out", out, "--runtime", runtime, *how)


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(f"deploy: {command[1]} ended with {done.returncode}")


def make_first_keys(stage: str, region: str) -> None:
    """The admin's key, printed this once, and the scheduled worker's, which only it can read."""
    place = f"secretsmanager:queuelog-{stage}-keys"
    registry = open_registry(place, SystemClock())
    if not registry.records():
        _, key = registry.create("admin", Role.ADMIN, priority_max=Priority.CRITICAL)
        print(f"\nThe first admin key of {stage}, which is not shown again:\n\n  {key}\n")
    give_the_drain_its_key(registry, f"queuelog-{stage}-drain-key")
    command = "queuelog keys create NAME --role producer --registry"
    print(f"Further keys: AWS_DEFAULT_REGION={region} {command} {place}")


def give_the_drain_its_key(registry: KeyRegistry, secret: str) -> None:
    """Unless it has one that works; the one before it is left to run out or be revoked."""
    try:
        kept = secret_text(secret)
    except NoKey:
        kept = ""
    if not (kept and registry.identify(kept)):
        _, key = registry.create("drain", Role.WORKER, priority_max=Priority.MEDIUM)
        put_secret_text(secret, key)


if __name__ == "__main__":
    main()
