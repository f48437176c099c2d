"""Many repeats of one claim at once get one set of jobs, whoever of them comes first."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from queuelog_core.job import Status
from queuelog_core.stores import Store, open_store
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.engines import gives_in_order
from tests.support.factories import FakeClock, pending_job
from tests.support.http import Api, json_of
from tests.support.processes import run_all

CALLERS, ROUNDS, LIMIT = 8, 10, 3
Told = tuple[bool, list[tuple[int, int]]]
"""Whether it was a replay, and the jobs with their attempts."""


def send(api: Api, key: str, **body: Any) -> Told:
    """What a claim is told; as every client does, it asks a busy store again."""
    headers = {"Idempotency-Key": key}
    while True:
        reply = api.call("POST", "/jobs/claim", "worker", body, headers=headers)
        if reply.status_code != 503:
            break
    one = [json_of(reply)] if reply.status_code == 200 else []
    jobs = json_of(reply)["jobs"] if "limit" in body else one
    replayed = reply.headers.get("Idempotent-Replayed") == "true"
    return replayed, [(job["id"], job["attempt"]) for job in jobs]


def send_each(api: Api, wait: Callable[[], Any]) -> list[Told]:
    """One claim of one and one of several jobs a round, all callers of a round together."""
    told = []
    for number in range(ROUNDS):
        wait()
        told.append(send(api, f"key {number}", types=["email"]))
        told.append(send(api, f"key {number}", types=["email"], limit=LIMIT))
    return told


def send_each_in_a_process(url: str) -> list[Told]:
    return send_each(Api(open_store(url), FakeClock()), lambda: None)


def fill(store: Store) -> None:
    """Twice as many jobs as the claims need: each claim too many would find some."""
    store.insert_many([pending_job() for _ in range(2 * ROUNDS * (1 + LIMIT))])


def assert_one_claim_each(store: Store, told: list[list[Told]]) -> None:
    for answers in zip(*told, strict=True):
        assert sorted(replayed for replayed, _ in answers) == [False] + [True] * (CALLERS - 1)
        assert len({tuple(jobs) for _, jobs in answers}) == 1
    given = [job for _, jobs in told[0] for job in jobs]
    assert len(set(given)) == len(given)
    assert {attempt for _, attempt in given} == {1}
    if gives_in_order(store):
        assert sorted(given) == [(job_id, 1) for job_id in range(1, ROUNDS * (1 + LIMIT) + 1)]
    assert store.stats(0, None).statuses["email"][Status.RUNNING] == len(given)


def test_repeats_in_threads_get_one_set_of_jobs(store: Store) -> None:
    fill(store)
    barrier = threading.Barrier(CALLERS, timeout=30)
    api = Api(store, FakeClock())

    with ThreadPoolExecutor(CALLERS) as threads:
        calls = [
            threads.submit(send_each, api.for_a_thread(), barrier.wait) for _ in range(CALLERS)
        ]
        told = [call.result() for call in calls]

    assert_one_claim_each(store, told)


def test_repeats_in_processes_get_one_set_of_jobs(store_url: str) -> None:
    store = open_store(store_url)
    fill(store)

    told = run_all(send_each_in_a_process, store_url, processes=CALLERS)

    assert_one_claim_each(store, told)


@pytest.mark.parametrize("body", [{}, {"limit": LIMIT}])
def test_a_claim_that_its_own_repeat_overtakes_between_look_and_lock_gets_the_same_jobs(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, body: dict[str, int]
) -> None:
    fill(store)
    api = Api(store, FakeClock())
    write = store._file.write
    overtaken: list[Told] = []

    def after_the_repeat(*work: Any) -> Any:
        monkeypatch.setattr(store._file, "write", write)
        overtaken.append(send(api.for_a_thread(), "k", **body))
        return write(*work)

    monkeypatch.setattr(store._file, "write", after_the_repeat)

    replayed, jobs = send(api, "k", **body)

    assert overtaken == [(False, jobs)]
    assert replayed
