"""One store object across a fork."""

import multiprocessing
from collections.abc import Iterator

import pytest

from queuelog_core.job import Status
from queuelog_core.stores import Store, open_store
from tests.support.dynamodb import Engine
from tests.support.factories import pending_job
from tests.support.processes import until_free
from tests.support.stores import claim, complete

CHILDREN, JOBS = 4, 10
PATIENCE_SECONDS = 60.0


@pytest.fixture
def store(dynalite_engine: Engine) -> Iterator[Store]:
    store = open_store(dynalite_engine.url(dynalite_engine.make_table()))
    yield store
    store.close()


def work(store: Store) -> None:
    """Calls that need connections and threads of the store's own: as many jobs out as in."""
    store.insert_many([pending_job() for _ in range(JOBS)])
    done = 0
    while done < JOBS:
        for job in until_free(lambda: claim(store)):
            assert complete(store, job).status is Status.COMPLETED
            done += 1


# Python warns of forks beside threads, which is what is tried here.
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_neither_a_connection_nor_a_thread_is_carried_over_a_fork(store: Store) -> None:
    """B57: parent and children work at once, each through connections of its own."""
    work(store)
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=work, args=(store,)) for _ in range(CHILDREN)]
    for child in children:
        child.start()

    work(store)

    for child in children:
        child.join(PATIENCE_SECONDS)
        child.kill()
    assert [child.exitcode for child in children] == [0] * CHILDREN
    assert claim(store) == []
