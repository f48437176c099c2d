"""The rules of the house: import arrows, who may read what, sizes, names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LINES_MAX, FUNCTION_LINES_MAX = 250, 40

# A module imports only from floors below its own; stores, http and cli also from their own floor.
FLOORS: list[set[str]] = [
    {"clock", "errors", "documents", "forks", "redact_rule"},
    {"job", "config", "logs", "probe", "redact_tokens"},
    {"reports", "identity", "client", "redact_rules"},
    {"transitions", "job_types", "key_registry", "redact", "worker"},
    {"new_job", "stores"},
    {"leases"},
    {"queue"},
    {"bootstrap", "upkeep", "demo", "metrics", "drain", "backups"},
    {"maintain"},
    {"http"},
    {"waiting_room", "testing"},
    {"serve"},
    {"cli"},
]
ONLY_IN = {
    "flask": {"http"},
    "werkzeug": {"http"},
    "serverless_wsgi": {"http"},
    "sqlite3": {"stores"},
    "waitress": {"serve", "waiting_room"},
    "click": {"cli"},
    "urllib3": {"client"},
    "boto3": {"key_registry", "job_handlers", "stores"},
    "botocore": {"key_registry", "job_handlers", "stores"},
    "rich": {"cli"},
    "pydantic": set(),
}
NOT_OUR_WORDS = re.compile(
    r"(?:^|_)(task|tasks|msg|ack|nack|requeue|reap|reaper|rescue|sweep|prune|dlq|repo|repository|dal"
    r"|serialize|controller|principal|etag|util|utils|helper|common|tmp|cfg|ctx|mgr)(?:_|$)"
)

NAMES_OF_OTHERS = {"tmp_path", "tmp_path_factory", "task_class"}
"""Pytest's and waitress'."""


def python_files(*folders: str) -> list[Path]:
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert files
    return files


PRODUCT = python_files("queuelog_core", "functions")
EVERYTHING = [*PRODUCT, *python_files("tests", "scripts")]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Dotted names of all that a module imports, also inside functions."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            assert node.module is not None
            package = ROOT.joinpath(*node.module.split("."))
            for alias in node.names:
                is_module = (package / f"{alias.name}.py").exists()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def room(module: str) -> str:
    """The part of queuelog_core that a dotted name lies in: `http` for all of http/."""
    return module.split(".")[1] if "." in module else ""


def floor(name: str) -> int:
    (number,) = (number for number, rooms in enumerate(FLOORS) if name in rooms)
    return number


@pytest.mark.parametrize("path", python_files("queuelog_core"), ids=named)
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(ROOT / "queuelog_core").parts[0].removesuffix(".py")
    for module in imports(path):
        if not module.startswith("queuelog_core") or not room(module):
            continue
        same_package = room(module) == own and (ROOT / "queuelog_core" / own).is_dir()
        assert same_package or floor(room(module)) < floor(own), module


@pytest.mark.parametrize("path", PRODUCT, ids=named)
def test_only_the_room_for_it_imports_a_library(path: Path) -> None:
    own = path.relative_to(ROOT).parts[1].removesuffix(".py")
    for module in imports(path):
        library = module.split(".")[0]
        assert own in ONLY_IN.get(library, {own}), module
        assert library != "functions" or path.is_relative_to(ROOT / "functions"), module


@pytest.mark.parametrize("path", python_files("functions"), ids=named)
def test_functions_import_only_what_they_are_a_door_to(path: Path) -> None:
    doors = {"maintain.py": "queuelog_core.maintain", "drain.py": "queuelog_core.drain"}
    door = doors.get(path.name, "queuelog_core.http")
    allowed = "queuelog_core.worker" if "job_handlers" in path.parts else door
    for module in imports(path):
        assert not module.startswith("queuelog_core") or module.startswith(allowed), module


@pytest.mark.parametrize("path", PRODUCT, ids=named)
def test_only_the_clock_reads_time_and_only_the_configuration_the_environment(path: Path) -> None:
    own = path.name
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.Attribute):
            continue
        used = ast.unparse(node)
        reads_time = re.fullmatch(r"time\.(time|time_ns|monotonic|clock_gettime)|.*\.now", used)
        assert own == "clock.py" or not reads_time, used
        assert own == "config.py" or used not in ("os.environ", "os.getenv"), used


@pytest.mark.parametrize("path", EVERYTHING, ids=named)
def test_no_module_is_longer_than_the_limit(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LINES_MAX


@pytest.mark.parametrize("path", EVERYTHING, ids=named)
def test_no_function_is_longer_than_the_limit(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno + 1 <= FUNCTION_LINES_MAX, node.name


@pytest.mark.parametrize("path", EVERYTHING, ids=named)
def test_names_use_the_words_of_the_house(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        name = getattr(node, "name", None) or getattr(node, "id", None) or getattr(node, "arg", "")
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name or "")).lower()
        assert words in NAMES_OF_OTHERS or not NOT_OUR_WORDS.search(words), name


@pytest.mark.parametrize("path", python_files("queuelog_core"), ids=named)
def test_every_module_and_public_function_tells_what_it_is(path: Path) -> None:
    tree = tree_of(path)
    assert ast.get_docstring(tree)
    if path.name in ("sqlite.py", "dynamodb.py", "redact_rules.py", "rules.py", "errors.py") or (
        path.name.endswith("endpoints.py")
    ):
        return  # their contract is told once: by the route table, the protocol, the tree of errors
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


KEY_MODULES = [
    "identity.py",
    "key_registry/__init__.py",
    "http/authorizer.py",
    "http/key_identity.py",
    "http/lambda_adapter.py",
]


@pytest.mark.parametrize("path", [ROOT / "queuelog_core" / name for name in KEY_MODULES], ids=named)
def test_keys_and_digests_are_never_compared_by_an_operator(path: Path) -> None:
    """A comparison of secrets takes the same time wherever they differ."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Compare):
            sides = {ast.unparse(side).split(".")[-1] for side in (node.left, *node.comparators)}
            equal = any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
            assert not equal or not sides & {"digest", "secret", "key_digest", "check"}, sides
