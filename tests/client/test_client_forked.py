"""One client across a fork."""

import multiprocessing
from collections import Counter
from pathlib import Path

import pytest

from queuelog_core.client import Client
from queuelog_core.identity import Role
from tests.client.scripted_server import scripted_server
from tests.support.servers import make_key, serving

FORK = multiprocessing.get_context("fork")
CHILDREN, JOBS = 3, 20
PATIENCE_SECONDS = 60.0

# Python warns of forks beside threads, which is what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def use_and_close(client: Client) -> None:
    with client:
        client.stats()


def test_a_child_opens_connections_of_its_own_and_leaves_its_parents_open() -> None:
    with scripted_server() as script, Client(script.url, "the-key") as client:
        client.stats()
        child = FORK.Process(target=use_and_close, args=(client.with_budget(5),))
        child.start()
        child.join(PATIENCE_SECONDS)
        client.stats()

    assert child.exitcode == 0
    before, in_child, after = (asked.port for asked in script.asked)
    assert before == after != in_child


def enqueue_jobs(client: Client, name: str) -> None:
    for number in range(JOBS):
        sent = {"name": name, "number": number}
        assert client.enqueue("email", sent).payload == sent


def test_parent_and_children_get_the_answers_to_their_own_calls(tmp_path: Path) -> None:
    key = make_key(tmp_path, "root", Role.ADMIN)
    with serving(tmp_path) as server, Client(server.url, key, timeout_seconds=5) as client:
        client.whoami()
        children = [
            FORK.Process(target=enqueue_jobs, args=(client, f"child {number}"))
            for number in range(CHILDREN)
        ]
        for child in children:
            child.start()
        enqueue_jobs(client, "parent")
        for child in children:
            child.join(PATIENCE_SECONDS)
            child.kill()

        assert [child.exitcode for child in children] == [0] * CHILDREN
        made = Counter(job.payload["name"] for job in client.jobs())
        assert set(made.values()) == {JOBS}
        assert len(made) == CHILDREN + 1
