"""Servers, workers and commands in three time zones speak of the same instants, and in UTC."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from queuelog_core.clock import SystemClock, format_instant, parse_instant
from queuelog_core.identity import Role
from tests.support.naps import KINDS
from tests.support.servers import Server, environment, make_key, queuelog, running, serving
from tests.support.zones import CHATHAM, KATHMANDU, ST_JOHNS

ZONES = [KATHMANDU, ST_JOHNS, CHATHAM]
OFFSETS = ["+05:45", "-03:30", "+12:45", "Z"]
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# Its own offset tells that the process is truly in its zone.
WORKER = """
import time

from queuelog_core.worker import Worker

worker = Worker(poll_seconds_max=0.2)

@worker.handler("nap")
def nap(job):
    times = {name: str(value) for name, value in job.job._asdict().items() if name.endswith("_at")}
    return {"offset": time.localtime().tm_gmtoff, **times}
"""


class World(NamedTuple):
    """Three servers on one store, each in a zone of its own, and the key of an admin."""

    folder: Path
    servers: list[Server]
    key: str

    def get(self, path: str) -> list[Any]:
        """What each of them answers."""
        answers = [server.call("GET", path, self.key) for server in self.servers]
        assert {answer.status for answer in answers} == {200}
        return [answer.json for answer in answers]

    def command(self, zone: str, *arguments: str) -> str:
        """What the command prints there, asking the server of another zone."""
        server = self.servers[(ZONES.index(zone) + 1) % len(ZONES)]
        settings = {"QUEUELOG_URL": server.url, "QUEUELOG_API_KEY": self.key, "TZ": zone}
        done = queuelog(self.folder, *arguments, **settings)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("zones")
    key = make_key(folder, "root", Role.ADMIN)
    (folder / "types.toml").write_text("[types.nap]\n[types.email]\n")
    (folder / "naps_here.py").write_text(WORKER)
    types = str(folder / "types.toml")
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(folder, TZ=zone, QUEUELOG_JOB_TYPES=types))
            for zone in ZONES
        ]
        yield World(folder, servers, key)


def times_in(document: Any) -> list[str]:
    """Every time in an answer, however deep."""
    if isinstance(document, list):
        return [time for item in document for time in times_in(item)]
    if not isinstance(document, dict):
        return []
    here = [v for name, v in document.items() if name.endswith("_at") or name == "as_of"]
    deeper = [time for value in document.values() for time in times_in(value)]
    return [time for time in here if time is not None] + deeper


def written(instant: int, offset: str) -> str:
    """An instant as somebody with this offset from UTC writes it."""
    moment = datetime.fromisoformat(format_instant(instant))
    zone = datetime.fromisoformat(f"2037-01-01T00:00:00{offset}").tzinfo
    return moment.astimezone(zone).isoformat(timespec="milliseconds")


def test_every_zone_means_and_shows_the_same_instants(world: World) -> None:
    at = SystemClock()() + 3_600_000
    made = [
        server.enqueue(world.key, type="email", run_at=written(at, offset))
        for server, offset in zip([*world.servers, world.servers[0]], OFFSETS, strict=True)
    ]
    delayed = [
        server.enqueue(world.key, type="email", delay_seconds=3600) for server in world.servers
    ]

    assert {job["run_at"] for job in made} == {format_instant(at)}
    for job in delayed:
        assert parse_instant(job["run_at"]) - parse_instant(job["created_at"]) == 3_600_000
    for path in ("/jobs?type=email", *(f"/jobs/{job['id']}" for job in made)):
        one, other, third = world.get(path)
        assert one == other == third
        assert all(UTC.fullmatch(found) for found in times_in(one))
    since = written(parse_instant(delayed[0]["created_at"]), "+05:45").replace("+", "%2B")
    for page in world.get(f"/jobs?type=email&order=asc&created_after={since}"):
        assert [job["id"] for job in page["jobs"]][-3:] == [job["id"] for job in delayed]
        assert made[0]["id"] not in [job["id"] for job in page["jobs"]]
    stats = world.get("/stats")
    assert all(UTC.fullmatch(found["as_of"]) for found in stats)
    assert max(parse_instant(found["as_of"]) for found in stats) < SystemClock()() + 5_000
    for server in world.servers:
        lines = [json.loads(line) for line in server.log.splitlines()]
        assert all(UTC.fullmatch(line["at"]) for line in lines)


@pytest.mark.parametrize(("zone", "offsets"), [(KATHMANDU, {20_700}), (CHATHAM, {45_900, 49_500})])
def test_a_worker_of_any_zone_sees_the_times_of_its_job(
    world: World, zone: str, offsets: set[int]
) -> None:
    server = world.servers[1]
    job = server.enqueue(world.key, type="nap", delay_seconds=1)
    settings = {"QUEUELOG_URL": server.url, "QUEUELOG_API_KEY": world.key, "TZ": zone}
    with running(KINDS["work"], world.folder, environment(**settings)) as worker:
        done = server.job_once(world.key, job["id"], "completed")
        assert worker.stop() == 0

    result = done["result"]
    assert result["offset"] in offsets, "the process is not in this zone"
    for name in ("created_at", "run_at", "claimed_at"):
        assert datetime.fromisoformat(result[name]) == datetime.fromisoformat(done[name])
        assert datetime.fromisoformat(result[name]).utcoffset() == timedelta(0)
    assert parse_instant(done["claimed_at"]) >= parse_instant(job["run_at"])


@pytest.mark.parametrize("zone", ZONES)
def test_the_command_shows_utc_in_any_zone(world: World, zone: str) -> None:
    made = world.command(zone, "enqueue", "email", "--delay", "1h", "--json")
    job = json.loads(made)
    shown = world.command(zone, "jobs", "show", str(job["id"]))
    since = written(parse_instant(job["created_at"]), "-03:30")
    listed = world.command(zone, "jobs", "list", "--created-after", since, "--json")

    assert parse_instant(job["run_at"]) - parse_instant(job["created_at"]) == 3_600_000
    for name in ("created_at", "run_at"):
        told = re.search(rf"^{name} +(.*)$", shown, re.MULTILINE)
        assert told
        assert told[1] == job[name][:19].replace("T", " ") + "Z"
    found = [json.loads(line) for line in listed.splitlines()]
    assert [each for each in found if each["id"] == job["id"]] * 3 == world.get(
        f"/jobs/{job['id']}"
    )
