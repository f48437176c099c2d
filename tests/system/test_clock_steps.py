"""A wall clock that is set an hour forward or back while a server or a worker runs under it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from queuelog_core.clock import parse_instant
from queuelog_core.identity import Role
from tests.support.faked_time import WallClock
from tests.support.naps import LEASE_SECONDS, nap_site
from tests.support.servers import Answer, Server, eventually, make_key, serving

HOUR = 3600


class Host(NamedTuple):
    """A server, the clock on its wall, and the key of an admin."""

    server: Server
    clock: WallClock
    key: str

    def post(self, path: str, **body: Any) -> Answer:
        return self.server.call("POST", f"/jobs{path}", self.key, body)

    def enqueue(self, **fields: Any) -> Any:
        return self.server.enqueue(self.key, type="email", **fields)

    def claim(self, lease_seconds: int = 60) -> Any:
        """The job that a worker gets now, or None."""
        answer = self.post("/claim", types=["email"], lease_seconds=lease_seconds)
        return answer.json if answer.status == 200 else None

    def report(self, verb: str, job: Any) -> Answer:
        return self.post(f"/{job['id']}/{verb}", attempt=job["attempt"])

    def now(self) -> int:
        """What its clock says, in ms."""
        return parse_instant(self.server.call("GET", "/stats", self.key).json["as_of"])


@pytest.fixture
def key(tmp_path: Path) -> str:
    return make_key(tmp_path, "root", Role.ADMIN)


@contextmanager
def host(folder: Path, key: str, seconds: int = 0) -> Iterator[Host]:
    """A server whose clock is off by so much when it starts; it settles no leases by itself."""
    clock = WallClock(folder / f"clock{seconds}")
    clock.set(seconds)
    types = folder / "types.toml"
    types.write_text("[types.email]\n")
    settings = {"QUEUELOG_JOB_TYPES": str(types), **clock.settings}
    with serving(folder, "--no-upkeep", **settings) as server:
        yield Host(server, clock, key)


def test_a_clock_set_back_an_hour_stands_still_until_it_has_caught_up(
    tmp_path: Path, key: str
) -> None:
    with host(tmp_path, key) as here:
        held, started_at = enqueued_and_claimed(here), time.monotonic()
        delayed = here.enqueue(delay_seconds=1)
        before = here.now()
        here.clock.set(-HOUR)

        stood = [here.now() for _ in range(2)]
        once = {"idempotency_key": "once"}
        fresh, again = here.enqueue(**once), here.post("", type="email", **once)
        short = here.claim(lease_seconds=1)
        beat = here.report("heartbeat", held)
        time.sleep(1.2)
        nothing = here.claim()
        here.clock.set(0)
        passed = time.monotonic() - started_at
        due = [here.claim(), here.claim()]

        assert stood[0] - before < 1000 * passed
        assert stood[1] == stood[0]
        assert (again.status, again.json["id"]) == (200, fresh["id"])
        assert (short["id"], short["lease_expires_at"] > short["claimed_at"]) == (fresh["id"], True)
        assert (beat.status, beat.json["lease_expires_at"] >= held["lease_expires_at"]) == (
            200,
            True,
        )
        assert nothing is None, "time went on"
        assert sorted((job["id"], job["attempt"]) for job in due) == sorted(
            [(delayed["id"], 1), (fresh["id"], 2)]
        )
        assert here.report("complete", short).json["code"] == "lease-lost"
        assert [here.report("complete", job).status for job in (held, *due)] == [200] * 3


def enqueued_and_claimed(here: Host, lease_seconds: int = 60) -> Any:
    here.enqueue()
    return here.claim(lease_seconds)


def test_a_server_started_after_its_clock_was_set_back_an_hour_has_lost_nothing(
    tmp_path: Path, key: str
) -> None:
    with host(tmp_path, key, HOUR) as ahead:
        held = enqueued_and_claimed(ahead)
        waits = ahead.enqueue(idempotency_key="once")
    with host(tmp_path, key) as here:
        fresh = here.enqueue()
        claimed = [here.claim(), here.claim()]
        again = here.post("", type="email", idempotency_key="once")
        stored = [here.server.job(here.key, job["id"]) for job in (held, waits)]

        assert parse_instant(waits["run_at"]) - here.now() > 3_500_000
        assert (claimed[0]["id"], claimed[1]) == (fresh["id"], None), "a delay is off by an hour"
        assert stored == [held, waits]
        assert (again.status, again.json["id"]) == (200, waits["id"])
        assert [here.report("complete", job).status for job in (held, claimed[0])] == [200] * 2


def test_a_clock_set_forward_an_hour_ends_leases_and_delays_and_fences_their_workers(
    tmp_path: Path, key: str
) -> None:
    with host(tmp_path, key) as here:
        taken, late = enqueued_and_claimed(here), enqueued_and_claimed(here)
        delayed = here.enqueue(delay_seconds=HOUR // 2)
        nothing = here.claim()
        here.clock.set(HOUR)

        again = here.claim()
        refused, counts = here.report("complete", taken), here.report("complete", late)
        done, due = here.report("complete", again), here.claim()

        assert nothing is None
        assert (again["id"], again["attempt"]) == (taken["id"], 2)
        assert (refused.status, refused.json["code"]) == (409, "lease-lost")
        assert (counts.status, counts.json["retry_count"]) == (200, 0)
        assert (done.status, done.json["status"]) == (200, "completed")
        assert due["id"] == delayed["id"]


def test_a_worker_whose_clock_jumps_to_and_fro_goes_on_with_its_heartbeats(
    tmp_path: Path,
) -> None:
    with nap_site(tmp_path, "--no-upkeep") as site:
        clock = WallClock(tmp_path / "clock")
        job_id = site.enqueue(3 * LEASE_SECONDS)

        def lease_end() -> str:
            return site.server.job(site.key, job_id)["lease_expires_at"] or ""

        with site.worker("work", clock.settings) as worker:
            eventually(lambda: site.naps() == [f"{job_id} 1"], "the handler has begun")
            for seconds in (HOUR, -HOUR, 0):
                before = lease_end()
                clock.set(seconds)
                eventually(partial(lambda at: lease_end() > at, before), "a heartbeat comes")
            done = site.completed(job_id)
            assert worker.stop() == 0

        assert (done["attempt"], site.outcomes(job_id)) == (1, ["completed"])
        assert "Traceback" not in worker.log
