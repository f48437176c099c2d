"""A payload that somebody deleted from the table: its job ends, the queue goes on."""

import logging

import pytest

from tests.support.dynamodb import Engine
from tests.support.dynamodb_faults import lose_text
from tests.support.factories import FakeClock
from tests.support.http import Api, json_of, plain_types

LARGE = {"text": "x" * 2000}


class Scene:
    """A queue on a table from which texts can be deleted behind its back."""

    def __init__(self, engine: Engine) -> None:
        self._boto = engine.connect()
        self._table = engine.make_table()
        self.api = Api(engine.open(self._table), FakeClock(), job_types=plain_types())

    def lose(self, job_id: int, kind: str) -> None:
        """Delete the text of this kind that lies beside a job."""
        lose_text(self._boto, self._table, job_id, kind)


@pytest.fixture
def scene(moto_engine: Engine) -> Scene:
    return Scene(moto_engine)


@pytest.mark.parametrize("key", [None, "k"], ids=["without a key", "with a key"])
@pytest.mark.parametrize("limit", [1, 5])
def test_a_claim_that_finds_no_payload_fails_the_job_and_gives_the_next(
    scene: Scene, caplog: pytest.LogCaptureFixture, key: str | None, limit: int
) -> None:
    api = scene.api
    broken = api.enqueue(payload=LARGE, priority="high")
    whole = api.enqueue(payload=LARGE)
    scene.lose(broken["id"], "P")
    headers = None if key is None else {"Idempotency-Key": key}

    with caplog.at_level(logging.ERROR):
        answer = api.call("POST", "/jobs/claim", "worker", {"limit": limit}, headers=headers)

    assert [job["id"] for job in json_of(answer)["jobs"]] == [whole["id"]]
    ended = json_of(api.call("GET", f"/jobs/{broken['id']}", "admin"))
    assert (ended["status"], ended["error_code"]) == ("failed", "payload_lost")
    assert [record.message for record in caplog.records] == ["payload-lost"]
    again = api.call("POST", "/jobs/claim", "worker", {"limit": limit}, headers=headers)
    assert [job["id"] for job in json_of(again)["jobs"]] == ([whole["id"]] if key else [])


def test_a_queue_of_lost_payloads_only_is_drained(scene: Scene) -> None:
    api = scene.api
    for _ in range(3):
        scene.lose(api.enqueue(payload=LARGE)["id"], "P")

    assert api.claim() is None

    assert json_of(api.call("GET", "/stats", "admin"))["types"]["email"]["failed"] == 3


def test_a_redrive_of_a_lost_payload_ends_the_same_way(scene: Scene) -> None:
    api = scene.api
    job = api.enqueue(payload=LARGE)
    scene.lose(job["id"], "P")
    assert api.claim() is None

    assert api.call("POST", f"/jobs/{job['id']}/redrive", "admin", {}).status_code == 200
    assert api.claim() is None

    assert json_of(api.call("GET", f"/jobs/{job['id']}", "admin"))["error_code"] == "payload_lost"


def test_what_is_lost_reads_as_empty_everywhere(scene: Scene) -> None:
    api = scene.api
    waiting = api.enqueue(payload=LARGE)
    scene.lose(waiting["id"], "P")
    done = api.enqueue(priority="high")
    assert api.report("complete", api.claim(), result=LARGE).status_code == 200
    scene.lose(done["id"], "R")

    listed = {job["id"]: job for job in json_of(api.call("GET", "/jobs", "admin"))["jobs"]}

    for job_id in (waiting["id"], done["id"]):
        shown = json_of(api.call("GET", f"/jobs/{job_id}", "admin"))
        assert listed[job_id] == shown
    assert listed[waiting["id"]]["payload"] == {}
    assert listed[done["id"]]["result"] == {}
