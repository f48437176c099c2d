"""Lists: pages by creation, filters, positions that stay while jobs arrive."""

from typing import Any

import pytest

from queuelog_core.job import Priority, Status
from queuelog_core.stores import LOOKED_AT_MAX, Filter, Position, Store
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim, complete, fail, insert


def ids(store: Store, limit: int = 100, **filters: Any) -> list[int]:
    """All pages in a row."""
    found: list[int] = []
    after: Position | None = None
    while True:
        page = store.list(Filter(**filters), limit, after)
        found += [job.id for job in page.jobs]
        if page.next is None:
            return found
        after = page.next


@pytest.fixture
def mixed(store: Store) -> Store:
    """Twelve jobs: 1 completed, 2 failed for good, 3 running, the rest pending."""
    for number in range(12):
        insert(
            store,
            now=NOON + number // 2,
            type=("email", "pdf")[number % 2],
            priority=list(Priority)[number % 4],
            producer_id=("shop", "blog")[number % 3 == 0],
            run_at=NOON - 12 + number if number < 3 else NOON,
            max_retries=0,
        )
    first, second, _ = (job for _ in "abc" for job in claim(store, NOON + 9))
    complete(store, first, NOON + 9)
    fail(store, second, NOON + 9)
    return store


def test_a_list_is_newest_first_and_ids_decide_within_an_instant(mixed: Store) -> None:
    assert ids(mixed) == list(range(12, 0, -1))
    assert ids(mixed, newest_first=False) == list(range(1, 13))


@pytest.mark.parametrize("limit", [1, 2, 5, 12])
@pytest.mark.parametrize("newest_first", [True, False])
def test_pages_hold_each_job_once(mixed: Store, limit: int, newest_first: bool) -> None:
    expected = sorted(range(1, 13), reverse=newest_first)

    assert ids(mixed, limit, newest_first=newest_first) == expected


@pytest.mark.parametrize(
    "filters",
    [
        {"type": "pdf"},
        {"priority": Priority.HIGH},
        {"producer_id": "blog"},
        {"status": Status.PENDING},
        {"status": Status.RUNNING},
        {"status": Status.COMPLETED},
        {"status": Status.FAILED},
        {"status": Status.CANCELLED},
        {"worker_id": "mailer"},
        {"types": frozenset({"email"})},
        {"types": frozenset()},
        {"created_after": NOON + 2},
        {"created_before": NOON + 2},
        {"created_after": NOON + 1, "created_before": NOON + 4},
        {"producer_id": "shop", "status": Status.PENDING, "type": "email"},
        {"producer_id": "shop", "created_after": NOON + 1, "created_before": NOON + 4},
        {"status": Status.FAILED, "producer_id": "shop"},
    ],
)
@pytest.mark.parametrize("newest_first", [True, False])
def test_each_filter_shows_just_the_jobs_that_fit(
    mixed: Store, filters: dict[str, Any], newest_first: bool
) -> None:
    jobs = [job for number in range(1, 13) if (job := mixed.get(number))]

    def fits(job: Any) -> bool:
        after = filters.get("created_after", 0) <= job.created_at
        before = job.created_at < filters.get("created_before", NOON * 2)
        seen = job.type in filters.get("types", {"email", "pdf"})
        plain = {"type", "priority", "producer_id", "status", "worker_id"} & filters.keys()
        return after and before and seen and all(getattr(job, n) == filters[n] for n in plain)

    expected = sorted((job.id for job in jobs if fits(job)), reverse=newest_first)
    assert ids(mixed, 2, newest_first=newest_first, **filters) == expected


def test_a_list_stays_put_while_jobs_arrive_and_move(mixed: Store) -> None:
    """B37: nothing is shown twice or skipped when jobs come in between two pages."""
    page = mixed.list(Filter(), 5, None)
    insert(mixed, now=NOON + 50)
    claim(mixed, NOON + 60)

    rest = mixed.list(Filter(), 100, page.next)

    assert [job.id for job in page.jobs + rest.jobs] == list(range(12, 0, -1))


def test_a_page_holds_whole_jobs_and_counts_jobs_not_attempts(store: Store) -> None:
    """B38: attempts never multiply or swallow rows of a list."""
    for _ in range(3):
        insert(store, payload='{"a":1}')
    for job in claim(store, limit=3):
        fail(store, job, error="text")

    page = store.list(Filter(), 2, None)

    assert page.jobs == [store.get(3), store.get(2)]
    assert page.jobs[0].error == "text"


def test_a_page_ends_after_two_thousand_rows_looked_at(store: Store) -> None:
    store.insert_many([pending_job(type="pdf") for _ in range(LOOKED_AT_MAX)])
    first = insert(store, now=NOON - 1)

    page = store.list(Filter(type="email"), 10, None)

    assert (page.jobs, page.next is None) == ([], False)
    assert [job.id for job in store.list(Filter(type="email"), 10, page.next).jobs] == [first.id]


def test_a_page_ends_after_about_two_mebibytes(store: Store) -> None:
    payload = '{"a":"' + "x" * 65_000 + '"}'
    store.insert_many([pending_job(payload=payload) for _ in range(40)])

    page = store.list(Filter(), 200, None)

    assert len(page.jobs) == 33
    assert page.next is not None
    assert len(store.list(Filter(), 200, page.next).jobs) == 7
