"""B51: however often and by whomever a dead job is redriven at once, one redrive alone is real."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from queuelog_core.job import Status
from queuelog_core.stores import Filter, Store, open_store
from tests.support.factories import FakeClock, admin
from tests.support.http import KEYS, Api, json_of
from tests.support.processes import run_all
from tests.support.stores import claim_one, fail, insert

CALLERS, JOBS = 4, 20
SAME, EACH_ITS_OWN = ["root"] * CALLERS, [f"root-{number}" for number in range(CALLERS)]
who = pytest.mark.parametrize(
    ("names", "refusal"), [(SAME, "replayed"), (EACH_ITS_OWN, "conflict")], ids=["one", "many"]
)


@pytest.fixture(autouse=True)
def admins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {*SAME, *EACH_ITS_OWN}:
        monkeypatch.setitem(KEYS, name, admin(name))


def let_die(store: Store) -> None:
    for _ in range(JOBS):
        insert(store, max_retries=0)
        fail(store, claim_one(store))


def post(api: Api, key: str, path: str, body: Any = None) -> Any:
    """The answer of a store that is not busy: until then nothing was done."""
    while (reply := api.call("POST", path, key, body)).status_code == 503:
        pass
    return reply


def redrive_each(api: Api, name: str) -> list[str]:
    """For every job `real`, `replayed` or the code of the refusal."""
    told = []
    for job in api.store.list(Filter(), JOBS, None).jobs:
        reply = post(api, name, f"/jobs/{job.id}/redrive")
        replayed = "replayed" if "Idempotent-Replayed" in reply.headers else "real"
        told.append(replayed if reply.status_code == 200 else json_of(reply)["code"])
    return told


def redrive_many(api: Api, name: str) -> int:
    """How many this caller redrove in all."""
    redriven, more = 0, True
    while more:
        done = json_of(post(api, name, "/jobs/redrive", {"all": True, "limit": 3}))
        redriven, more = redriven + done["redriven"], done["more"]
    return redriven


def in_threads(store: Store, work: Callable[[Api, str], Any], names: list[str]) -> list[Any]:
    """What the work returns in each of several threads on one store."""
    barrier = threading.Barrier(len(names))
    api = Api(store, FakeClock())

    def start(mine: Api, name: str) -> Any:
        barrier.wait()
        return work(mine, name)

    with ThreadPoolExecutor(len(names)) as threads:
        return list(threads.map(start, [api.for_a_thread() for _ in names], names))


def in_a_process(url: str, work: Callable[[Api, str], Any], own: bool) -> Any:
    name = f"root-{os.getpid()}" if own else "root"
    KEYS[name] = admin(name)
    return work(Api(open_store(url), FakeClock()), name)


def assert_one_is_real(told: list[list[str]], refusal: str) -> None:
    expected = sorted(["real"] + [refusal] * (CALLERS - 1))
    assert [sorted(answers) for answers in zip(*told, strict=True)] == [expected] * JOBS


@who
def test_of_several_redrives_in_threads_exactly_one_is_real(
    store: Store, names: list[str], refusal: str
) -> None:
    let_die(store)

    assert_one_is_real(in_threads(store, redrive_each, names), refusal)


@who
def test_of_several_redrives_in_processes_exactly_one_is_real(
    store_url: str, names: list[str], refusal: str
) -> None:
    let_die(open_store(store_url))

    told = run_all(in_a_process, store_url, redrive_each, names == EACH_ITS_OWN, processes=CALLERS)

    assert_one_is_real(told, refusal)


@pytest.mark.parametrize("names", [SAME, EACH_ITS_OWN], ids=["one", "many"])
def test_redrives_of_many_at_once_in_threads_count_each_job_once(
    store: Store, names: list[str]
) -> None:
    let_die(store)

    assert sum(in_threads(store, redrive_many, names)) == JOBS
    assert store.stats(0, None).statuses["email"][Status.PENDING] == JOBS


@pytest.mark.parametrize("own", [False, True], ids=["one", "many"])
def test_redrives_of_many_at_once_in_processes_count_each_job_once(
    store_url: str, own: bool
) -> None:
    store = open_store(store_url)
    let_die(store)

    assert sum(run_all(in_a_process, store_url, redrive_many, own, processes=CALLERS)) == JOBS
    assert store.stats(0, None).statuses["email"][Status.PENDING] == JOBS


def test_a_job_that_has_ended_in_another_way_meanwhile_is_left_alone(
    store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a redrive of failed jobs would undo somebody's cancel."""
    api = Api(store, clock)
    let_die(store)
    find = store.find_dead

    def find_and_wait(*asked: Any) -> Any:
        found = find(*asked)
        post(api, "admin", "/jobs/1/redrive")
        post(api, "admin", "/jobs/1/cancel")
        return found

    monkeypatch.setattr(store, "find_dead", find_and_wait)
    done = json_of(post(api, "admin", "/jobs/redrive", {"filter": {"status": "failed"}}))

    assert (done["matched"], done["redriven"]) == (JOBS, JOBS - 1)
    assert api.get({"id": 1})["status"] == "cancelled"
