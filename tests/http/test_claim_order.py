"""Which due job a claim gives."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from queuelog_core.stores import Store
from tests.support.factories import pending_job
from tests.support.http import Api


def claimed_ids(api: Api, **fields: Any) -> list[int]:
    """The ids of all due jobs in the order in which they are given out."""
    ids: list[int] = []
    while (job := api.claim(**fields)) is not None:
        ids.append(job["id"])
    return ids


def test_higher_priorities_go_first(api: Api) -> None:
    low = api.enqueue("admin", priority="low")
    medium = api.enqueue("admin")
    critical = api.enqueue("admin", priority="critical")
    high = api.enqueue("admin", priority="high")

    ids = claimed_ids(api)

    assert ids == [critical["id"], high["id"], medium["id"], low["id"]]


def test_the_priority_counts_across_types(api: Api) -> None:
    api.enqueue("admin", "email", priority="low")
    second = api.enqueue("admin", "sync", priority="high")

    ids = claimed_ids(api)

    assert ids == [second["id"], 1]


def test_of_one_priority_the_earliest_due_goes_first(api: Api) -> None:
    """B12, B13: the order is that of the instants, not of their texts."""
    run_at = [
        "2026-11-29T12:00:00.002Z",
        "2026-11-29T13:30:00.001+01:30",
        "2026-11-29T12:00:00.001Z",
        "2026-11-29T08:00:00-04:00",
    ]
    for text in run_at:
        api.enqueue(run_at=text)
    api.clock.advance(1)

    ids = claimed_ids(api)

    assert ids == [4, 2, 3, 1]


def test_of_one_instant_the_lowest_id_goes_first(api: Api, store: Store) -> None:
    """B14."""
    store.insert_many([pending_job() for _ in range(60)])

    ids = claimed_ids(api)

    assert ids == list(range(1, 61))


def test_jobs_of_one_instant_keep_their_order_across_types(api: Api) -> None:
    """B14."""
    kinds = ["sync", "email", "pdf", "email", "sync", "pdf"]
    for kind in kinds:
        api.enqueue(job_type=kind)

    ids = claimed_ids(api)

    assert ids == [1, 2, 3, 4, 5, 6]


def test_a_delayed_job_blocks_nothing_behind_it(api: Api) -> None:
    """B16."""
    delayed = api.enqueue("admin", priority="critical", delay_seconds=60)
    low = api.enqueue(priority="low")

    now = claimed_ids(api)
    api.clock.advance(59.999)
    too_early = claimed_ids(api)
    api.clock.advance(0.001)
    later = claimed_ids(api)

    assert now == [low["id"]]
    assert too_early == []
    assert later == [delayed["id"]]


def test_a_delay_longer_than_the_lease_gives_one_run_and_not_before_its_time(api: Api) -> None:
    """B29: four workers poll every ten seconds for twice the delay."""
    delayed = api.enqueue(delay_seconds=600)
    runs = []
    for waited in range(0, 1200, 10):
        for key in ("worker", "other-worker", "worker", "admin"):
            job = api.claim(key, types=["email"], lease_seconds=300)
            if job is not None:
                runs.append((waited, job["id"], job["attempt"]))
                api.report("complete", job, key)
        api.clock.advance(10)

    assert runs == [(600, delayed["id"], 1)]


def test_a_retry_without_delay_keeps_its_age(api: Api) -> None:
    first = api.enqueue()
    api.clock.advance(1)
    api.enqueue()
    api.report("fail", api.claim())

    again = api.claim()

    assert again["id"] == first["id"]


def test_a_retry_with_a_delay_lets_others_pass(api: Api) -> None:
    """B17."""
    api.enqueue()
    second = api.enqueue()
    api.report("fail", api.claim(), retry_in_seconds=1)

    next_one = api.claim()

    assert next_one["id"] == second["id"]


def test_only_the_types_asked_for_are_given(api: Api) -> None:
    api.enqueue("admin", "email", priority="critical")
    pdf = api.enqueue(job_type="pdf")
    sync = api.enqueue(job_type="sync")

    ids = claimed_ids(api, types=["pdf", "sync", "pdf"])

    assert ids == [pdf["id"], sync["id"]]


def test_without_types_those_of_the_key_are_meant(api: Api) -> None:
    api.enqueue("admin", "email", priority="critical")
    pdf = api.enqueue(job_type="pdf")

    ids = claimed_ids(api, key="pdf-worker")

    assert ids == [pdf["id"]]


def test_concurrent_claims_of_one_key_never_share_a_job(api: Api) -> None:
    """B24: three callers get three jobs, five get nothing."""
    for _ in range(3):
        api.enqueue()
    barrier = threading.Barrier(8)

    def once(mine: Api) -> Any:
        barrier.wait()
        return mine.claim()

    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(once, [api.for_a_thread() for _ in range(8)]))

    assert sorted(job["id"] for job in given if job is not None) == [1, 2, 3]
    assert given.count(None) == 5
