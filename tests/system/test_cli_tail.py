"""`queuelog jobs tail`: what it shows, and what it follows."""

from collections.abc import Callable
from functools import partial

import pytest

from queuelog_core.client import Request, Response
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.system.cli_scene import Here, between_looks


def enqueue(api: Api, many: int, job_type: str = "email") -> None:
    for first in range(0, many, 100):
        batch = [{"type": job_type}] * min(100, many - first)
        assert api.call("POST", "/jobs/batch", body={"jobs": batch}).status_code == 200


Follow = Callable[..., list[tuple[int, str]]]


@pytest.fixture
def follow(here: Here, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Id and status of each line that `tail -f` prints while the steps are done, after a bar."""

    def follow(*steps: Callable[[], object], asked: tuple[str, ...] = ()) -> list[tuple[int, str]]:
        def a_second_later(step: Callable[[], object]) -> None:
            clock.advance(1)
            step()

        between_looks(monkeypatch, "tail", *(partial(a_second_later, step) for step in steps))
        command = ("jobs", "tail", "-f", "-n", "0", "--json", *asked)
        return [(job["id"], job["status"]) for job in here.lines(*command)]

    return follow


def test_a_tail_shows_the_newest_jobs_as_they_are(here: Here, api: Api, clock: FakeClock) -> None:
    for _ in range(12):
        clock.advance(1)
        api.enqueue()
    clock.advance(1)
    api.claim()

    done = here("jobs", "tail")
    two = here.lines("jobs", "tail", "-n", "2", "--json")

    assert len(done.stdout.splitlines()) == 10
    assert done.stdout.splitlines()[-1] == (
        "2026-11-29 12:00:13Z  1  email  running  attempt 1  mailer"
    )
    assert [(job["id"], job["status"]) for job in two] == [(12, "pending"), (1, "running")]


def test_new_jobs_and_changes_of_status_appear_in_their_order(follow: Follow, api: Api) -> None:
    api.enqueue()
    shown = follow(
        api.enqueue,
        lambda: None,
        api.claim,
        lambda: api.report("fail", {"id": 1, "attempt": 1}),
        lambda: (api.claim(), api.report("complete", {"id": 1, "attempt": 2})),
    )

    assert shown == [(2, "pending"), (1, "running"), (1, "pending"), (1, "completed")]


def test_a_heartbeat_is_no_change(follow: Follow, api: Api) -> None:
    api.enqueue()
    job = api.claim()

    assert follow(lambda: api.report("heartbeat", job)) == []


@pytest.mark.parametrize("before", [0, 1, 250])
def test_all_new_jobs_are_shown_also_more_than_a_page(
    follow: Follow, api: Api, before: int
) -> None:
    enqueue(api, before)

    shown = follow(lambda: enqueue(api, 450), lambda: enqueue(api, 1))

    assert [job_id for job_id, _ in shown] == list(range(before + 1, before + 452))


def test_a_look_at_a_long_queue_costs_two_requests(follow: Follow, here: Here, api: Api) -> None:
    enqueue(api, 450)
    asked: list[str] = []
    send = here.transport

    def written_down(request: Request) -> Response:
        asked.append(request.path)
        return send(request)

    here.transport = written_down

    assert follow(api.enqueue, lambda: None) == [(451, "pending")]
    assert len(asked) == 6


def test_the_end_of_a_job_older_than_the_newest_page_is_shown(follow: Follow, api: Api) -> None:
    api.enqueue()
    enqueue(api, 250, "pdf")
    job = api.claim(types=["email"])

    assert follow(lambda: api.report("complete", job)) == [(1, "completed")]


def test_an_old_job_that_begins_to_run_is_shown(follow: Follow, api: Api) -> None:
    api.enqueue()
    enqueue(api, 250, "pdf")

    assert follow(lambda: api.claim(types=["email"])) == [(1, "running")]


def test_a_job_that_is_deleted_meanwhile_is_neither_shown_nor_in_the_way(
    follow: Follow, api: Api, store: Store
) -> None:
    enqueue(api, 210)
    job = api.claim()

    def delete_the_newest_and_that_which_runs() -> None:
        api.report("complete", job)
        api.call("POST", "/jobs/210/cancel")
        api.clock.advance(1)
        assert api.queue.purge(0, 10) == 2

    assert follow(delete_the_newest_and_that_which_runs) == []
    assert api.call("GET", "/jobs/1").status_code == 404
    assert api.call("GET", "/jobs/210").status_code == 404


def test_a_filter_holds_for_what_is_followed(follow: Follow, api: Api) -> None:
    def work() -> None:
        api.enqueue(job_type="pdf")
        api.report("complete", api.claim(types=["pdf"]))
        api.enqueue()

    assert follow(work, asked=("--type", "email")) == [(2, "pending")]
    assert follow(work, asked=("--status", "completed")) == [(3, "completed")]


def test_what_runs_and_ends_between_two_looks_is_shown_to_who_follows_its_worker(
    follow: Follow, api: Api
) -> None:
    for job_type in ("pdf", "email", "email"):
        api.enqueue(job_type=job_type)

    def work(job_type: str) -> None:
        api.report("complete", api.claim(types=[job_type]))

    steps = (lambda: work("email"), lambda: work("pdf"))

    assert follow(*steps, asked=("--worker", "mailer")) == [(2, "completed"), (1, "completed")]
