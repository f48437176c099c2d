"""When a claim with a limit that got nothing should come again; null tells that all is drained."""

from typing import Any

import pytest

from queuelog_core.errors import StoreBusy
from queuelog_core.job_types import JobTypes, Policy
from queuelog_core.stores import Store
from tests.support.factories import FakeClock, pending_job
from tests.support.http import Api, failing, json_of

LEASE = 300


def wait(api: Api, key: str = "worker", **body: Any) -> Any:
    """The seconds until the next job is due, as told to a claim that gets none."""
    reply = api.call("POST", "/jobs/claim", key, {"limit": 25, **body})
    assert reply.status_code == 200
    assert json_of(reply)["jobs"] == []
    return json_of(reply)["next_due_in_seconds"]


def test_an_empty_queue_is_drained(api: Api) -> None:
    assert wait(api) is None


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_jobs_that_have_ended_are_no_more_due(api: Api, verb: str) -> None:
    api.enqueue(max_retries=0)
    api.report(verb, api.claim())

    assert wait(api) is None


def test_types_of_which_nothing_is_left_are_drained_whatever_others_hold(api: Api) -> None:
    api.enqueue()
    api.enqueue(job_type="pdf", delay_seconds=60)

    assert wait(api, types=["sync"]) is None
    assert wait(api, key="pdf-worker") == 60


def test_types_that_have_all_left_the_allowlist_are_drained(store: Store, clock: FakeClock) -> None:
    api = Api(store, clock, JobTypes({"email": Policy()}))
    api.enqueue()

    assert wait(api, key="pdf-worker") is None


@pytest.mark.parametrize(
    ("waited", "told"), [(0, 60), (0.001, 60), (0.999, 60), (1, 59), (59, 1), (59.999, 1)]
)
def test_a_delayed_job_is_waited_for_rounded_up(api: Api, waited: float, told: int) -> None:
    """So that a client that waits as told never comes too early."""
    api.enqueue(delay_seconds=60)
    api.clock.advance(waited)

    assert wait(api) == told


@pytest.mark.parametrize("holder", ["worker", "other-worker"])
def test_a_running_job_is_waited_for_until_its_lease_ends(api: Api, holder: str) -> None:
    api.enqueue()
    api.claim(holder, lease_seconds=40)
    api.clock.advance(10)

    assert wait(api) == 30


def test_a_year_is_told_as_it_is(api: Api) -> None:
    api.enqueue(delay_seconds=31_536_000)

    assert wait(api) == 31_536_000


def test_overdue_leases_that_are_not_settled_yet_are_due_at_once(api: Api) -> None:
    api.store.insert_many([pending_job(max_retries=0) for _ in range(70)])
    while api.claim():
        pass
    api.clock.advance(LEASE)

    assert wait(api) == 0
    assert wait(api) is None


def test_the_wait_is_told_by_the_claim_itself_and_by_no_second_look(
    store: Store, clock: FakeClock
) -> None:
    """A store that is busy just then would turn jobs that were given into a 503."""
    api = Api(failing(store, StoreBusy("held"), "next_due_at"), clock)
    api.enqueue()

    reply = api.call("POST", "/jobs/claim", "worker", {"limit": 1})

    assert [job["id"] for job in json_of(reply)["jobs"]] == [1]
    assert json_of(reply)["next_due_in_seconds"] == 300
