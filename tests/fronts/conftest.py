"""Every front, started once; the emulators serve their own tests too."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from queuelog_core.bootstrap import open_queue
from queuelog_core.clock import SystemClock
from queuelog_core.config import Config
from queuelog_core.http.app import create_app
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.key_registry.file import FileRegistry
from queuelog_core.key_registry.secret import SecretRegistry
from tests.fronts.front import Front, make_keys
from tests.fronts.gateway import GatewayFront, in_the_runtime, in_this_process
from tests.fronts.local_fronts import CloudFront, FlaskFront, OfflineFront, PortFront
from tests.fronts.scene import Scene
from tests.support.cloud import Cloud, admin_key_in, cloud
from tests.support.http import ROOT
from tests.support.offline import offline
from tests.support.servers import Server, serving

IN_PROCESS = ("flask", "served", "handlers")
FRONTS = (*IN_PROCESS, "runtime", "offline", "cloud")
# A stage on DynamoDB differs from the one before in nothing but the store: it lives the stories.
STORY_FRONTS = (*FRONTS, "table")
CLIENTS_TYPE = "note"
TABLE_STAGE = "tabled"
# Odd requests go to the slow fronts under `make soak`.
ODD_FRONTS = FRONTS if os.environ.get("QUEUELOG_FRONTS") == "all" else IN_PROCESS
# First what a schedule shall do in a minute, last what has waited for it and what stops.
FIRST = ("test_offline",)
LAST = (
    "test_eight_clients",
    "test_cloud",
    "test_cloud_restore",
    "test_cloud_table",
    "test_offline_schedule",
    "test_leaving_nothing",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        name = item.path.stem
        return -1 if name in FIRST else 1 + LAST.index(name) if name in LAST else 0

    items.sort(key=place)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of odd requests take fewer fronts than the others."""
    if "front" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        chosen = {"test_odd_requests": ODD_FRONTS, "test_stories": STORY_FRONTS}.get(module, FRONTS)
        metafunc.parametrize("front", chosen, indirect=True, scope="session")


@pytest.fixture(scope="session")
def front(request: pytest.FixtureRequest) -> Front:
    found: Front = request.getfixturevalue(f"{request.param}_front")
    return found


@pytest.fixture
def scene(front: Front) -> Iterator[Scene]:
    """Callers of one front; jobs that wait when a test is over are cancelled."""
    scene = Scene(front)
    yield scene
    scene.tidy_up()


class Local(NamedTuple):
    """A store and a key registry of a front's own, in the settings of a deployment."""

    settings: dict[str, str]
    keys: dict[str, str]


def local(folder: Path) -> Local:
    registry = FileRegistry(folder / "keys.json", SystemClock())
    settings = {
        "QUEUELOG_STORE": f"sqlite:///{folder}/queuelog.db",
        "QUEUELOG_KEYS": f"file:{folder}/keys.json",
        "QUEUELOG_JOB_TYPES": str(ROOT / "infra" / "job_types.toml"),
        "QUEUELOG_BACKUPS": f"{folder}/backups",
        "STRIP_STAGE_PATH": "true",
    }
    return Local(settings, make_keys(registry))


@pytest.fixture(scope="session")
def flask_front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("flask")
    settings, keys = local(folder)
    job_types = Path(settings["QUEUELOG_JOB_TYPES"])
    config = Config(settings["QUEUELOG_STORE"], settings["QUEUELOG_KEYS"], job_types, 30, "INFO")
    queue = open_queue(config)
    registry = FileRegistry(folder / "keys.json", SystemClock())
    yield FlaskFront(create_app(queue, identify_by_key(registry)), keys)
    queue.store.close()


@pytest.fixture(scope="session")
def served_front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("served")
    settings, keys = local(folder)
    with serving(folder, **settings) as server:
        yield PortFront(port_of(server), keys)


@pytest.fixture(scope="session")
def handlers_front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    settings, keys = local(tmp_path_factory.mktemp("handlers"))
    with in_this_process(settings) as invoke:
        yield GatewayFront("handlers", invoke, keys)


@pytest.fixture(scope="session")
def runtime_front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("runtime")
    settings, keys = local(folder)
    with in_the_runtime(folder, settings) as invoke:
        yield GatewayFront("runtime", invoke, keys)


class Offline(NamedTuple):
    """serverless-offline, and a key for each caller besides those of the demo."""

    server: Server
    keys: dict[str, str]


@pytest.fixture(scope="session")
def emulated_offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offline]:
    """With two more job types, which the scheduled worker does not run."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / ".queuelog").mkdir(mode=0o700)
    keys = make_keys(FileRegistry(folder / ".queuelog" / "keys.json", SystemClock()))
    shipped = (ROOT / "infra" / "job_types.toml").read_text("utf-8")
    types = folder / "job_types.toml"
    own = "".join(f"\n[types.{name}]\n" for name in (OfflineFront.job_type, CLIENTS_TYPE))
    types.write_text(shipped + own, "utf-8")
    with offline(folder, QUEUELOG_JOB_TYPES=str(types)) as server:
        yield Offline(server, keys)


@pytest.fixture(scope="session")
def offline_front(emulated_offline: Offline) -> Front:
    return OfflineFront(port_of(emulated_offline.server), emulated_offline.keys)


class Deployed(NamedTuple):
    """An emulator with the stack of a stage on it, and what the deployment printed."""

    cloud: Cloud
    printed: str


Deployments = Mapping[str, Deployed]
"""By the name of the front."""


@pytest.fixture(scope="session", autouse=True)
def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["Future[Deployments]"]:
    """It takes longest, so it begins before the first test, if any test wants it at all."""
    wanted = {name for item in request.session.items for name in _wanted_by(item)}
    if not wanted:
        yield Future()
        return

    def deploy(emulator: Cloud) -> Deployments:
        done = {"cloud": Deployed(emulator, emulator.deploy())}
        if "table" in wanted:
            beside = emulator.beside(TABLE_STAGE, database="dynamodb")
            done["table"] = Deployed(beside, beside.deploy("--built"))
        emulator.stop_schedules()
        return done

    with cloud(tmp_path_factory.mktemp("cloud")) as emulator, ThreadPoolExecutor(1) as thread:
        yield thread.submit(deploy, emulator)


def _wanted_by(item: pytest.Item) -> Iterator[str]:
    fixtures = getattr(item, "fixturenames", ())
    for name, fixture in {"cloud": "deployed", "table": "deployed_table"}.items():
        if f"[{name}" in item.name or fixture in fixtures:
            yield name


@pytest.fixture(scope="session")
def deployed(deployment: "Future[Deployments]") -> Deployed:
    return deployment.result()["cloud"]


@pytest.fixture(scope="session")
def deployed_table(deployment: "Future[Deployments]") -> Deployed:
    return deployment.result()["table"]


@pytest.fixture(scope="session")
def cloud_front(deployed: Deployed) -> Front:
    return front_of(deployed)


@pytest.fixture(scope="session")
def table_front(deployed_table: Deployed) -> Front:
    return front_of(deployed_table)


def front_of(deployed: Deployed) -> Front:
    """All keys are made before the first request: authorizers keep the registry for a minute."""
    emulator = deployed.cloud
    with closing(emulator.client("secretsmanager")) as client:
        registry = SecretRegistry(f"queuelog-{emulator.stage}-keys", SystemClock(), client=client)
        keys = make_keys(registry)
    printed = admin_key_in(deployed.printed)
    assert printed is not None, deployed.printed
    return CloudFront(emulator.port, {**keys, "admin": printed}, emulator.host)


def port_of(server: Server) -> int:
    return int(server.url.rpartition(":")[2])
