"""GET /jobs: whose jobs a list shows, and what each filter lets through."""

from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest

from queuelog_core.stores import Store
from tests.support.factories import NOON, pending_job
from tests.support.http import Api, assert_problem, faults, json_of


def listed(api: Api, key: str = "admin", **query: Any) -> list[int]:
    reply = api.call("GET", f"/jobs?{urlencode(query)}", key)
    assert reply.status_code == 200, reply.get_data(as_text=True)
    return [job["id"] for job in json_of(reply)["jobs"]]


def one_of_each(api: Api) -> None:
    """1 completed, 2 running, 3 failed, 4 pending again after a failure, 5 pending, 6 foreign."""
    api.enqueue()
    api.report("complete", api.claim())
    api.enqueue(job_type="pdf", priority="high")
    api.claim("other-worker")
    api.enqueue(max_retries=0)
    api.report("fail", api.claim())
    api.enqueue(priority="low")
    api.report("fail", api.claim())
    api.enqueue(job_type="sync")
    api.enqueue("other-producer")


def test_an_empty_list_says_that_it_has_ended(api: Api) -> None:
    reply = api.call("GET", "/jobs")

    assert json_of(reply) == {"jobs": [], "next_cursor": None}


def test_a_list_shows_jobs_as_single_reads_do(api: Api) -> None:
    one_of_each(api)

    reply = api.call("GET", "/jobs")

    assert json_of(reply)["jobs"] == [api.get({"id": job_id}) for job_id in (6, 5, 4, 3, 2, 1)]


@pytest.mark.parametrize(
    ("key", "ids"),
    [
        ("producer", [5, 4, 3, 2, 1]),
        ("other-producer", [6]),
        ("low-producer", []),
        ("worker", [6, 5, 4, 3, 2, 1]),
        ("pdf-worker", [2]),
        ("admin", [6, 5, 4, 3, 2, 1]),
    ],
)
def test_each_role_sees_its_part(api: Api, key: str, ids: list[int]) -> None:
    one_of_each(api)

    assert listed(api, key) == ids


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"status": "pending"}, [6, 5, 4]),
        ({"status": "running"}, [2]),
        ({"status": "completed"}, [1]),
        ({"status": "failed"}, [3]),
        ({"status": "cancelled"}, []),
        ({"type": "email"}, [6, 4, 3, 1]),
        ({"type": "pdf"}, [2]),
        ({"priority": "low"}, [4]),
        ({"priority": "HIGH"}, [2]),
        ({"priority": "critical"}, []),
        ({"producer_id": "blog"}, [6]),
        ({"producer_id": "nobody"}, []),
        ({"worker_id": "mailer"}, [3, 1]),
        ({"worker_id": "printer"}, [2]),
        ({"worker_id": "nobody"}, []),
        ({"type": "email", "status": "pending", "producer_id": "shop"}, [4]),
        ({"status": "failed", "type": "pdf"}, []),
        ({"order": "asc"}, [1, 2, 3, 4, 5, 6]),
        ({"order": "asc", "type": "email"}, [1, 3, 4, 6]),
        ({"order": "asc", "status": "failed"}, [3]),
        ({"order": "asc", "producer_id": "shop"}, [1, 2, 3, 4, 5]),
        ({"order": "desc", "limit": 2}, [6, 5]),
        ({"order": "asc", "limit": 1}, [1]),
    ],
    ids=str,
)
def test_a_filter_lets_through_what_it_names(
    api: Api, query: dict[str, Any], ids: list[int]
) -> None:
    one_of_each(api)

    assert listed(api, **query) == ids


@pytest.mark.parametrize(
    ("key", "query"),
    [
        ("producer", {"producer_id": "blog"}),
        ("pdf-worker", {"type": "email"}),
        ("pdf-worker", {"producer_id": "blog"}),
    ],
)
def test_a_filter_never_widens_what_a_role_sees(api: Api, key: str, query: Any) -> None:
    one_of_each(api)

    assert listed(api, key, **query) == []


def test_a_producer_may_name_itself(api: Api) -> None:
    one_of_each(api)

    assert listed(api, "producer", producer_id="shop") == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("narrow", [{}, {"producer_id": "shop"}])
def test_windows_of_time_that_meet_show_each_job_once(
    api: Api, store: Store, order: str, narrow: dict[str, str]
) -> None:
    store.insert_many([pending_job(NOON + offset) for offset in (-1, 0, 0, 1, 999, 1000, 1001)])
    edges = [
        "2026-11-29T11:59:59.999Z",
        "2026-11-29T12:00:00Z",
        "2026-11-29T13:00:00.001+01:00",
        "2026-11-29T12:00:01.000Z",
        "2026-11-29T12:00:02Z",
    ]

    seen = [
        sorted(listed(api, created_after=start, created_before=end, order=order, **narrow))
        for start, end in pairwise(edges)
    ]

    assert seen == [[1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_window_that_ends_before_it_starts_is_empty(api: Api, order: str) -> None:
    api.enqueue()
    window = {"created_after": "2026-11-29T13:00:00Z", "created_before": "2026-11-29T11:00:00Z"}

    assert listed(api, order=order, **window) == []


def test_jobs_of_one_instant_are_listed_by_id(api: Api, store: Store) -> None:
    store.insert_many([pending_job() for _ in range(5)])

    assert listed(api) == [5, 4, 3, 2, 1]
    assert listed(api, order="asc") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "query",
    [
        "status=bogus",
        "status=PENDING",
        "status=",
        "status=pending,failed",
        "type=fax",
        "type=Email",
        "type=",
        "priority=10",
        "priority=",
        "producer_id=",
        "producer_id=Shop%20Ltd",
        "worker_id=",
        "created_after=yesterday",
        "created_after=2026-11-29T12:00:00",
        "created_before=2026-11-29",
        "created_before=1795953600",
        "order=up",
        "order=DESC",
        "order=",
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=5.0",
        "limit=05",
        "limit=%2B5",
        "limit=five",
        "limit=",
        "limit=" + "9" * 5000,
        "limit=%D9%A5",
        "cursor=",
        "cursor=abc",
    ],
    ids=lambda query: query[:40],
)
def test_a_bad_value_is_refused(api: Api, query: str) -> None:
    """B39: never the whole list instead."""
    api.enqueue()

    reply = api.call("GET", f"/jobs?{query}")

    assert [field for field, _ in faults(reply)] == [query.partition("=")[0]]


@pytest.mark.parametrize(
    "query",
    [
        "staus=pending",
        "status[]=pending",
        "Status=pending",
        "offset=10",
        "status=pending&page=2",
        "x",
        "=",
        "status%00=pending",
    ],
)
def test_an_unknown_parameter_is_refused(api: Api, query: str) -> None:
    """B39."""
    reply = api.call("GET", f"/jobs?{query}")

    assert [code for _, code in faults(reply)] == ["unknown"]


@pytest.mark.parametrize(
    "query", ["status=pending&status=failed", "status=pending&status=pending", "limit=5&limit=6"]
)
def test_a_parameter_given_twice_is_refused(api: Api, query: str) -> None:
    """B39."""
    reply = api.call("GET", f"/jobs?{query}")

    assert [code for _, code in faults(reply)] == ["repeated"]


def test_no_refusal_repeats_a_value(api: Api) -> None:
    reply = api.call(
        "GET", "/jobs?status=canary-77&limit=canary-77&cursor=canary-77&type=canary-77"
    )

    assert_problem(reply, 422, "validation-failed")
    assert b"canary-77" not in reply.data


def test_at_most_twenty_faults_are_told(api: Api) -> None:
    reply = api.call("GET", "/jobs?" + "&".join(f"p{n}=1" for n in range(30)))

    told = faults(reply)
    assert (len(told), told[-1][1]) == (21, "more")
