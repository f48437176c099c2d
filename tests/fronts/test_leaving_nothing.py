"""What the emulators leave behind when they are told to end: nothing."""

import signal

from tests.fronts.conftest import Deployed, Offline
from tests.fronts.front import Front
from tests.support.offline import processes_of
from tests.support.servers import eventually

STOP_SECONDS = 10.0


def test_sigterm_ends_the_node_of_serverless_offline_and_its_pythons(
    emulated_offline: Offline, offline_front: Front
) -> None:
    offline_front.call("GET", "/whoami", "worker")
    group = emulated_offline.server.process.pid
    assert len(processes_of(group)) >= 3, "node, an authorizer and a function"

    emulated_offline.server.stop(signal.SIGTERM)

    eventually(lambda: not processes_of(group), "no process is left", STOP_SECONDS)


def test_the_emulator_of_aws_leaves_no_process(deployed: Deployed) -> None:
    group = deployed.cloud.server.process.pid
    assert processes_of(group)

    deployed.cloud.stop()

    assert not processes_of(group)
