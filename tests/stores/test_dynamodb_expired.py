"""Jobs that DynamoDB may delete by itself, and has not yet: nobody sees them or waits for them."""

from tests.support.dynamodb import Engine
from tests.support.factories import FakeClock
from tests.support.http import Api, json_of

KEPT_SECONDS = 60


def test_cancelled_jobs_that_may_be_deleted_by_now_are_in_no_redrives_way(
    dynalite_engine: Engine,
) -> None:
    clock = FakeClock()
    store = dynalite_engine.open_new()
    store._jobs._kept_seconds, store._jobs._clock = KEPT_SECONDS, clock
    api = Api(store, clock)

    def cancelled_job() -> int:
        job_id = int(api.enqueue()["id"])
        assert api.call("POST", f"/jobs/{job_id}/cancel").status_code == 200
        return job_id

    for _ in range(3):
        cancelled_job()
    clock.advance(KEPT_SECONDS)
    last = cancelled_job()

    seen = json_of(api.call("GET", "/jobs?status=cancelled"))["jobs"]
    done = json_of(api.call("POST", "/jobs/redrive", "admin", {"all": True, "limit": 2}))

    assert [job["id"] for job in seen] == [last]
    assert done == {"matched": 1, "redriven": 1, "more": False}
    store.close()
