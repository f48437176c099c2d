"""Builds what is deployed: build/api.zip for the API, build/drain.zip for the scheduled worker.

    python -m scripts.build_lambda [--out build] [--runtime python3.13] [--source-only]

Each holds the code, its libraries for the runtime's platform, and byte code made by an interpreter
of the runtime's version: a function on read-only disk would compile every module at each start.
The same input makes the same bytes.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
RUNTIME = "python3.13"
# Amazon Linux 2023 has glibc 2.34.
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64")
NEVER = ("*.pyi", "*.dist-info/RECORD", "bin/*", "werkzeug/debug/shared/*")
KEPT_BY_MANAGERS = (
    ("~/.pyenv/versions", "{0}.*/bin/python{0}"),
    ("~/.local/share/uv/python", "cpython-{0}.*/bin/python{0}"),
)
DATE = (2020, 1, 1, 0, 0, 0)
# The first answer of POST /jobs with and without byte code, python3.13, median of eleven.
SOURCE_ONLY = (
    "source only: each cold start compiles it. A first answer takes 0.6 s of a processor in place\n"
    "of 0.3 s, and a function with 512 MB has about a third of one"
)


class Package(NamedTuple):
    """What goes into a zip: libraries, and the code without what its functions never import."""

    name: str
    requirements: str
    without: tuple[str, ...]


PACKAGES = (
    Package(
        "api",
        "lambda-requirements.txt",
        (
            *("cli", "client", "worker", "testing*", "drain.py", "job_handlers"),
            *("demo.py", "serve.py", "waiting_room.py"),
            *("copied.py", "copying.py", "*_copy.py"),
        ),
    ),
    Package("drain", "drain-requirements.txt", ("cli", "http", "stores", "testing*")),
)


def main() -> None:
    options = argparse.ArgumentParser(prog="build_lambda", description=__doc__)
    options.add_argument("--out", type=Path, default=ROOT / "build")
    options.add_argument("--runtime", default=RUNTIME)
    options.add_argument("--source-only", action="store_true")
    asked = options.parse_args()
    python = None if asked.source_only else interpreter_of(asked.runtime)
    asked.out.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        target = asked.out / f"{package.name}.zip"
        build(package, target, asked.runtime, python)
        print(f"{target}: {target.stat().st_size:,} bytes")
    if python is None:
        print(SOURCE_ONLY)


def interpreter_of(runtime: str) -> str:
    """An interpreter of the runtime's version, which is what its byte code is for."""
    candidates = [runtime, sys.executable]
    version = runtime.removeprefix("python")
    for folder, pattern in KEPT_BY_MANAGERS:
        candidates += map(str, sorted(Path(folder).expanduser().glob(pattern.format(version))))
    for candidate in candidates:
        found = shutil.which(candidate)
        if found and _version_of(found) == runtime:
            return found
    raise SystemExit(
        f"build: there is no working {runtime} here to make byte code with.\n"
        f"Install it, or ship source: make deploy BYTECODE=no (each cold start then compiles it)"
    )


def build(package: Package, target: Path, runtime: str, python: str | None) -> None:
    """One package: libraries, code, byte code."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        _install(ROOT / "infra" / package.requirements, runtime, tree)
        left_out = shutil.ignore_patterns("__pycache__", *package.without)
        for part in ("functions", "queuelog_core"):
            shutil.copytree(ROOT / part, tree / part, ignore=left_out)
        (tree / "infra").mkdir()
        shutil.copy(ROOT / "infra" / "job_types.toml", tree / "infra")
        if python is not None:
            _compile(tree, python)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for file in _kept(tree):
                entry = zipfile.ZipInfo(str(file.relative_to(tree)), DATE)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())


def _install(requirements: Path, runtime: str, tree: Path) -> None:
    """Libraries as the runtime needs them, whatever this machine is."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--target", tree, "--no-compile", "--only-binary=:all:", "--implementation", "cp"),
            *(option for name in PLATFORMS for option in ("--platform", name)),
            *("--python-version", runtime.removeprefix("python")),
            *("-r", requirements, "-c", ROOT / "constraints.txt"),
        ],
        check=True,
    )


def _compile(tree: Path, python: str) -> None:
    """Byte code that is taken as it is: nobody edits a file of a deployed package."""
    subprocess.run(
        [python, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "."],
        cwd=tree,
        check=True,
    )


def _kept(tree: Path) -> Iterator[Path]:
    for file in sorted(tree.rglob("*")):
        part = file.relative_to(tree)
        if file.is_file() and not any(part.match(pattern) for pattern in NEVER):
            yield file


def _version_of(python: str) -> str:
    """`python3.13`, or nothing for one that does not run: version managers leave such behind."""
    code = "import sys; print(f'python{sys.version_info[0]}.{sys.version_info[1]}')"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
