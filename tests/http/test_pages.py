"""Pages of a list: cursors, and why a page may be short before the list has ended."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any
from urllib.parse import urlencode

import pytest

from queuelog_core.http.cursor import encode_cursor
from queuelog_core.stores import Filter, Store
from tests.support.factories import NOON, pending_job
from tests.support.http import Api, faults, json_of

PAGE_BYTES_MAX = 2 * 1024 * 1024
DOCUMENT_BYTES_MAX = 65_536
FIELDS_BYTES_MAX = 2048


def page(api: Api, key: str = "admin", **query: Any) -> Any:
    reply = api.call("GET", f"/jobs?{urlencode(query)}", key)
    assert reply.status_code == 200, reply.get_data(as_text=True)
    return json_of(reply)


def ids_of_pages(api: Api, key: str = "admin", **query: Any) -> list[list[int]]:
    """The ids of every page until next_cursor is null."""
    pages: list[list[int]] = []
    found: Any = {"next_cursor": None}
    while not pages or found["next_cursor"] is not None:
        more = {} if found["next_cursor"] is None else {"cursor": found["next_cursor"]}
        found = page(api, key, **query, **more)
        pages.append([job["id"] for job in found["jobs"]])
        assert len(pages) < 1000
    return pages


@pytest.fixture
def seven(store: Store) -> Store:
    """Seven jobs of shop; 3, 4 and 5 were made at one instant."""
    store.insert_many([pending_job(NOON + offset) for offset in (0, 1, 2, 2, 2, 3, 4)])
    return store


@pytest.mark.parametrize(
    ("order", "pages"),
    [("desc", [[7, 6, 5], [4, 3, 2], [1]]), ("asc", [[1, 2, 3], [4, 5, 6], [7]])],
)
@pytest.mark.parametrize("narrow", [{}, {"producer_id": "shop"}, {"status": "pending"}])
@pytest.mark.usefixtures("seven")
def test_pages_go_on_where_the_last_one_ended(
    api: Api, order: str, pages: list[list[int]], narrow: dict[str, str]
) -> None:
    """Also between jobs of one instant."""
    assert ids_of_pages(api, order=order, limit=3, **narrow) == pages


@pytest.mark.usefixtures("seven")
def test_only_a_null_cursor_ends_the_list(api: Api) -> None:
    full = page(api, limit=7)
    short = page(api, limit=6)

    assert (len(full["jobs"]), full["next_cursor"]) == (7, None)
    assert (len(short["jobs"]), short["next_cursor"] is None) == (6, False)


@pytest.mark.parametrize(("asked", "shown"), [({}, 50), ({"limit": 200}, 200), ({"limit": 1}, 1)])
def test_a_page_has_fifty_jobs_unless_asked(
    api: Api, store: Store, asked: dict[str, Any], shown: int
) -> None:
    store.insert_many([pending_job() for _ in range(201)])

    assert len(page(api, **asked)["jobs"]) == shown


@pytest.mark.usefixtures("seven")
def test_the_limit_may_change_between_pages(api: Api) -> None:
    first = page(api, limit=2)

    second = page(api, limit=5, cursor=first["next_cursor"])

    assert [job["id"] for job in second["jobs"]] == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_list_is_stable_while_jobs_arrive_and_end(api: Api, store: Store, order: str) -> None:
    """B37: each job that was there at the start is shown once."""
    store.insert_many([pending_job(NOON + n) for n in range(100)])
    api.clock.advance(1)
    seen: list[int] = []
    found: Any = {"next_cursor": None}

    while not seen or found["next_cursor"] is not None:
        more = {} if found["next_cursor"] is None else {"cursor": found["next_cursor"]}
        found = page(api, order=order, limit=10, **more)
        seen += [job["id"] for job in found["jobs"]]
        if len(seen) <= 50:
            store.insert_many([pending_job(api.clock()) for _ in range(5)])
            for _ in range(5):
                api.report("complete", api.claim())

    assert [job_id for job_id in seen if job_id <= 100] == sorted(
        range(1, 101), reverse=order == "desc"
    )
    assert len(seen) == len(set(seen))


def test_attempts_multiply_no_rows(api: Api) -> None:
    """B38."""
    for _ in range(3):
        api.enqueue(max_retries=3)
    for _ in range(12):
        api.report("fail", api.claim(), error="boom")

    assert ids_of_pages(api, limit=2) == [[3, 2], [1]]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("narrow", [{}, {"producer_id": "shop"}])
def test_a_page_ends_after_two_thousand_jobs_looked_at(
    api: Api, store: Store, order: str, narrow: dict[str, str]
) -> None:
    store.insert_many([pending_job() for _ in range(2000)])
    store.insert_many([pending_job(NOON + 1, type="pdf")])
    store.insert_many([pending_job(NOON + 2) for _ in range(2000)])

    pages = ids_of_pages(api, type="pdf", order=order, **narrow)

    assert [job_id for ids in pages for job_id in ids] == [2001]
    assert pages[0] == []
    assert len(pages) == 3


def test_two_thousand_jobs_and_no_more_need_no_second_page(api: Api, store: Store) -> None:
    store.insert_many([pending_job() for _ in range(2000)])

    assert ids_of_pages(api, type="pdf") == [[]]


@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
def test_a_page_ends_after_about_two_mebibytes(api: Api, store: Store, character: str) -> None:
    """What is measured is bytes: the gateway refuses an answer of more than six megabytes."""
    text = character * ((DOCUMENT_BYTES_MAX - 8) // len(character.encode()))
    store.insert_many([pending_job(payload=f'{{"s":"{text}"}}') for _ in range(70)])

    reply = api.call("GET", "/jobs?limit=200")
    pages = ids_of_pages(api, limit=200)

    assert len(reply.data) < PAGE_BYTES_MAX + 2 * DOCUMENT_BYTES_MAX + 35 * FIELDS_BYTES_MAX
    assert [job_id for ids in pages for job_id in ids] == list(range(70, 0, -1))
    assert len(pages) >= 3


def test_a_result_counts_as_a_payload_does(api: Api, store: Store) -> None:
    store.insert_many([pending_job(payload='{"s":"' + "x" * 60_000 + '"}') for _ in range(30)])
    for _ in range(30):
        api.report("complete", api.claim(), result="y" * 60_000)

    found = page(api, limit=200)

    assert 15 <= len(found["jobs"]) <= 20
    assert found["next_cursor"] is not None


@pytest.mark.parametrize(
    "other",
    [
        {"status": "pending"},
        {"type": "email"},
        {"priority": "medium"},
        {"producer_id": "shop"},
        {"worker_id": "mailer"},
        {"created_after": "2026-11-29T00:00:00Z"},
        {"created_before": "2026-11-30T00:00:00Z"},
        {"order": "asc"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("seven")
def test_a_cursor_is_bound_to_its_filter(api: Api, other: dict[str, str]) -> None:
    """B37."""
    cursor = page(api, limit=2)["next_cursor"]

    reply = api.call("GET", f"/jobs?{urlencode({**other, 'cursor': cursor})}")

    assert [field for field, _ in faults(reply)] == ["cursor"]


@pytest.mark.usefixtures("seven")
def test_a_cursor_is_bound_to_its_reader(api: Api) -> None:
    cursor = page(api, "producer", limit=2)["next_cursor"]

    replies = [api.call("GET", f"/jobs?cursor={cursor}", key) for key in ("admin", "worker")]

    assert [reply.status_code for reply in replies] == [422, 422]


@pytest.mark.usefixtures("seven")
def test_a_cursor_that_was_altered_is_refused(api: Api) -> None:
    """B37: every character of it."""
    cursor = page(api, limit=2)["next_cursor"]
    altered = [
        cursor[:n] + ("A" if c != "A" else "B") + cursor[n + 1 :] for n, c in enumerate(cursor)
    ]
    altered += [cursor[:-1], cursor + "A", cursor + "=", cursor.swapcase()]

    statuses = {api.call("GET", f"/jobs?cursor={text}").status_code for text in altered}

    assert statuses == {422}


@pytest.mark.parametrize(
    "text",
    ["abc", "null", "W10", "e30", "%00", "é", "A" * 512, "A" * 513, "W" * 2000, "-1", "2", "____"],
    ids=lambda text: text[:10],
)
def test_a_cursor_that_is_none_is_refused(api: Api, text: str) -> None:
    """B37: never the first page instead."""
    reply = api.call("GET", f"/jobs?{urlencode({'cursor': text})}")

    assert [field for field, _ in faults(reply)] == ["cursor"]


@pytest.mark.parametrize("place", [(-(2**70), 1), (2**70, 1), (NOON, 2**70), (NOON, -(2**70))])
@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.usefixtures("seven")
def test_a_cursor_that_somebody_made_up_never_breaks_the_server(
    api: Api, place: tuple[int, int], newest_first: bool
) -> None:
    """The seal needs no secret, so a caller can make one for any place."""
    cursor = encode_cursor(place, Filter(newest_first=newest_first), "root")

    reply = api.call("GET", f"/jobs?order={'desc' if newest_first else 'asc'}&cursor={cursor}")

    assert reply.status_code in (200, 422)


@pytest.mark.usefixtures("seven")
def test_a_cursor_shows_nothing_of_a_job_that_the_reader_may_not_see(api: Api) -> None:
    """It holds an instant and an id only, and is letters that need no escapes."""
    cursor = page(api, limit=2)["next_cursor"]

    padded = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))

    assert b"shop" not in padded
    assert urlsafe_b64encode(padded).decode().rstrip("=") == cursor
