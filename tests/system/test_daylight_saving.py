"""In the nights in which clocks are changed, leases, delays and the retention keep their length."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queuelog_core.clock import SystemClock, parse_instant
from queuelog_core.identity import Role
from queuelog_core.job_types import load_job_types
from queuelog_core.stores import Store
from tests.support.factories import FakeClock
from tests.support.faked_time import WallClock
from tests.support.http import Api, json_of
from tests.support.servers import make_key, serving
from tests.support.zones import CHANGES, PARIS

DAY, LONG = 86_400, 7_200
"""Seconds. Who adds the length to the hands of a clock is wrong only beyond the hour left out."""
TYPES = f"[types.email]\nmax_runtime_seconds = {LONG}\n[types.pdf]\nmax_runtime_seconds = {LONG}\n"


@pytest.fixture
def types(tmp_path: Path) -> Path:
    """A file of types whose jobs may run as long as anything here takes."""
    path = tmp_path / "types.toml"
    path.write_text(TYPES)
    return path


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """For a test that puts this very process into a zone."""
    with monkeypatch.context() as patch:
        yield patch
    time.tzset()


@pytest.mark.parametrize("change", CHANGES)
def test_leases_delays_and_retention_keep_their_length_when_clocks_are_changed(
    store: Store, clock: FakeClock, types: Path, zone: pytest.MonkeyPatch, change: str
) -> None:
    api = Api(store, clock, load_job_types(types))
    place, changed_at, by = CHANGES[change]
    zone.setenv("TZ", place)
    time.tzset()
    changes = parse_instant(changed_at)
    clock.now = changes - 60_000
    offsets = [time.localtime(changes // 1000 + seconds).tm_gmtoff for seconds in (-1, 0)]
    done = api.enqueue()
    api.report("complete", api.claim())

    held, delayed = api.enqueue(), api.enqueue(job_type="pdf", delay_seconds=LONG)
    api.claim(lease_seconds=LONG)
    clock.advance(LONG - 0.001)
    early = [api.claim(types=[name]) for name in ("email", "pdf")]
    clock.advance(0.001)
    late = [api.claim(types=[name]) for name in ("email", "pdf")]
    clock.advance(30 * DAY - LONG)
    kept = api.queue.purge(30 * DAY, 10)
    clock.advance(0.001)
    purged = api.queue.purge(30 * DAY, 10)

    assert offsets[1] - offsets[0] == by, "the process is not in this zone"
    assert early == [None, None]
    assert [(job["id"], job["attempt"]) for job in late] == [(held["id"], 2), (delayed["id"], 1)]
    assert (kept, purged) == (0, 1)
    assert api.call("GET", f"/jobs/{done['id']}").status_code == 404


def test_times_around_a_change_of_clocks_are_ordered_by_instant(
    api: Api, clock: FakeClock, zone: pytest.MonkeyPatch
) -> None:
    """B13: as text, the summer time comes after the winter time that follows it."""
    zone.setenv("TZ", PARIS)
    time.tzset()
    clock.now = parse_instant("2026-03-28T12:00:00Z")
    sent = {
        "2026-03-29T01:00:00+02:00": "2026-03-28T23:00:00.000Z",
        "2026-03-29T00:30:00+01:00": "2026-03-28T23:30:00.000Z",
        "2026-03-29T01:59:59.999+01:00": "2026-03-29T00:59:59.999Z",
        "2026-03-29T03:00:00+02:00": "2026-03-29T01:00:00.000Z",
    }
    jobs = [api.enqueue(run_at=text) for text in reversed(sent)][::-1]
    clock.now = parse_instant("2026-03-29T01:00:00Z")

    assert [job["run_at"] for job in jobs] == list(sent.values())
    pages = [json_of(api.call("GET", f"/jobs?limit=2&order={order}")) for order in ("asc", "desc")]
    assert [[job["id"] for job in page["jobs"]] for page in pages] == [[1, 2], [4, 3]]
    assert [api.claim()["id"] for _ in jobs] == [job["id"] for job in jobs]


@pytest.mark.parametrize("change", list(CHANGES)[::3])
def test_a_server_keeps_the_length_of_leases_and_delays_in_the_night_of_a_change(
    tmp_path: Path, types: Path, change: str
) -> None:
    place, changed_at, _ = CHANGES[change]
    before = (parse_instant(changed_at) - SystemClock()()) / 1000 - 60
    clock = WallClock(tmp_path / "clock")
    clock.set(before)
    key = make_key(tmp_path, "root", Role.ADMIN)
    settings = {"QUEUELOG_JOB_TYPES": str(types), "TZ": place}
    with serving(tmp_path, "--no-upkeep", **clock.settings, **settings) as server:

        def claim(name: str) -> Any:
            body = {"types": [name], "lease_seconds": LONG}
            answer = server.call("POST", "/jobs/claim", key, body)
            return answer.json if answer.status == 200 else None

        server.enqueue(key, type="email")
        delayed = server.enqueue(key, type="pdf", delay_seconds=LONG)
        held = claim("email")
        clock.set(before + LONG - 100)
        early = [claim("email"), claim("pdf")]
        clock.set(before + LONG + 1)
        late = [claim("email"), claim("pdf")]

    assert held["claimed_at"] < changed_at < held["lease_expires_at"]
    assert early == [None, None]
    assert [(job["id"], job["attempt"]) for job in late] == [(held["id"], 2), (delayed["id"], 1)]
