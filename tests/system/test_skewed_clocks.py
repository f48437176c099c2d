"""Servers on one file whose clocks are five minutes apart: libfaketime shifts what they see."""

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from queuelog_core.clock import SystemClock, parse_instant
from queuelog_core.identity import Role
from tests.support.faked_time import shifted
from tests.support.servers import Answer, Server, make_key, serving

SLOW, EXACT, FAST = -300, 0, 300
PAIRS = [(SLOW, EXACT), (EXACT, FAST)]
"""By how many seconds two clocks are off: the one behind, the one ahead."""
VERBS = ["claim", "heartbeat"] * 2 + ["fail", "release", "redrive", "cancel", "complete"]
WALKED, STEPS = 20, 30
TYPES = ("taken", "settled", "lost", "found", *(f"walked{number}" for number in range(2 * WALKED)))


class Host(NamedTuple):
    """A server whose clock is off by some seconds, and the keys of those who call it."""

    server: Server
    off: int
    keys: Mapping[str, str]

    def is_past(self, time: str, margin: int = 0) -> bool:
        """Whether a time is at most `margin` ms ahead of its clock."""
        return parse_instant(time) <= SystemClock()() + self.off * 1000 + margin

    def post(self, path: str, body: Any, name: str = "root") -> Answer:
        return self.server.call("POST", f"/jobs{path}", self.keys[name], body)

    def claim(self, job_type: str, lease_seconds: int, name: str = "root") -> Answer:
        return self.post("/claim", {"types": [job_type], "lease_seconds": lease_seconds}, name)

    def report(self, verb: str, job: Any, name: str = "root") -> Answer:
        return self.post(f"/{job['id']}/{verb}", {"attempt": job["attempt"] or None}, name)

    def enqueue(self, job_type: str, **fields: Any) -> Any:
        return self.server.enqueue(self.keys["root"], type=job_type, **fields)

    def get(self, path: str) -> Any:
        return self.server.call("GET", path, self.keys["root"]).json

    def attempts(self, job: Any) -> Any:
        return self.get(f"/jobs/{job['id']}/attempts")["attempts"]


class Hosts:
    """Servers on one store, each with a clock of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        workers = {name: make_key(folder, name, Role.WORKER) for name in ("first", "second")}
        self._keys = {"root": make_key(folder, "root", Role.ADMIN), **workers}
        self._home = folder / ".queuelog"
        tables = "".join(f"[types.{name}]\n" for name in TYPES)
        (self._home / "job_types.toml").write_text(tables, "utf-8")

    def start(self, off: int, *options: str) -> Host:
        own = self._folder / f"host{off}"
        server = self._stack.enter_context(
            serving(
                own,
                *options,
                QUEUELOG_STORE=f"sqlite:///{self._home}/queuelog.db",
                QUEUELOG_KEYS=f"file:{self._home}/keys.json",
                QUEUELOG_JOB_TYPES=f"{self._home}/job_types.toml",
                **(shifted(own, off) if off else {}),
            )
        )
        host = Host(server, off, self._keys)
        seen = host.get("/stats")["as_of"]
        assert host.is_past(seen, 10_000), "its clock is not behind"
        assert not host.is_past(seen, -10_000), "its clock is not ahead"
        return host


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Host]]:
    with ExitStack() as stack:
        hosts = Hosts(tmp_path_factory.mktemp("hosts"), stack)
        yield {off: hosts.start(off, "--no-upkeep") for off in (SLOW, EXACT, FAST)}


@pytest.mark.parametrize("verb", ["complete", "fail", "heartbeat", "release"])
@pytest.mark.parametrize(("behind", "ahead"), PAIRS)
def test_a_host_ahead_takes_a_job_early_and_the_stale_report_is_refused_and_counted(
    hosts: dict[int, Host], behind: int, ahead: int, verb: str
) -> None:
    slower, faster = hosts[behind], hosts[ahead]
    job = slower.enqueue("taken")
    held = slower.claim("taken", 60, "first").json
    late = slower.get("/stats")["late_reports"]

    assert not slower.is_past(held["lease_expires_at"]), "it still lasts where it was given"
    taken = faster.claim("taken", 60, "second").json
    stale = [host.report(verb, held, "first") for host in (slower, faster)]
    done = faster.report("complete", taken, "second")

    assert (taken["id"], taken["attempt"], taken["retry_count"]) == (job["id"], 2, 1)
    assert [(answer.status, answer.json["code"]) for answer in stale] == [(409, "lease-lost")] * 2
    assert done.status == 200
    assert (done.json["status"], done.json["worker_id"]) == ("completed", "second")
    ends = [(entry["worker_id"], entry["outcome"]) for entry in slower.attempts(job)]
    assert ends == [("first", "expired"), ("second", "completed")]
    assert faster.get("/stats")["late_reports"] == late + len(stale)


def walk(job_type: str, hosts: list[Host], seed: int) -> Counter[str]:
    """One job after the other through verbs at random from hosts at random; what was applied, and
    how often a host had to write a time that is ahead of its own clock."""
    choose = random.Random(f"{seed} {job_type}")
    applied: Counter[str] = Counter()
    job = choose.choice(hosts).enqueue(job_type, max_retries=25)
    for _ in range(STEPS):
        host, verb = choose.choice(hosts), choose.choice(VERBS)
        answer = act(host, verb, job, lease_seconds=choose.choice([1, 60, 600]))
        assert answer.status in (200, 202, 204, 409), answer.text
        after = host.get(f"/jobs/{job['id']}")
        assert after["updated_at"] >= job["updated_at"], (verb, host.off)
        assert_in_order(after, host.attempts(job))
        if after != job:
            ahead = not host.is_past(after["updated_at"], 60_000)
            applied.update([verb, "ahead"] if ahead else [verb])
        ended = after["status"] == "completed"
        job = host.enqueue(job_type, max_retries=25) if ended else after
    return applied


def act(host: Host, verb: str, job: Any, lease_seconds: int) -> Answer:
    if verb == "claim":
        return host.claim(job["type"], lease_seconds)
    if verb in ("cancel", "redrive"):
        return host.post(f"/{job['id']}/{verb}", {})
    return host.report(verb, job)


def assert_in_order(job: Any, attempts: Any) -> None:
    times = chain.from_iterable((entry["claimed_at"], entry["ended_at"]) for entry in attempts)
    ends = [job["finished_at"], job["updated_at"]]
    told = [time for time in (job["created_at"], *times, *ends) if time]
    assert all(earlier <= later for earlier, later in pairwise(told)), told


@pytest.mark.parametrize(("behind", "ahead"), PAIRS)
def test_times_in_a_job_never_run_backwards_whichever_host_writes_them(
    hosts: dict[int, Host], behind: int, ahead: int
) -> None:
    seed = random.randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    first = WALKED * PAIRS.index((behind, ahead))

    applied: Counter[str] = Counter()
    for number in range(first, first + WALKED):
        applied += walk(f"walked{number}", [hosts[behind], hosts[ahead]], seed)

    sys.stdout.write(f"applied {dict(applied)}\n")
    assert set(applied) == {*VERBS, "ahead"}


def test_a_slow_host_loses_no_job(hosts: dict[int, Host]) -> None:
    slow, others = hosts[SLOW], [hosts[EXACT], hosts[FAST]]
    enqueued = {slow.enqueue("lost")["id"] for _ in range(12)}

    done = []
    for host in [slow, *others] * 4:
        job = host.claim("lost", 900).json
        done.append(host.report("complete", job).json)

    assert {job["id"] for job in done} == enqueued
    assert {(job["status"], job["attempt"]) for job in done} == {("completed", 1)}


def test_a_slow_host_finishes_what_it_claims_while_others_look_for_jobs(
    hosts: dict[int, Host],
) -> None:
    slow = hosts[SLOW]
    job = slow.enqueue("found")
    held = slow.claim("found", 900).json

    found = [hosts[off].claim("found", 900).status for off in (EXACT, FAST)]
    beat = slow.report("heartbeat", held)
    done = slow.report("complete", held)

    assert held["id"] == job["id"]
    assert found == [204, 204]
    assert (beat.status, done.status, done.json["status"]) == (200, 200, "completed")


def test_the_upkeep_of_a_host_ahead_expires_a_lease_early_and_the_work_still_counts(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        hosts = Hosts(tmp_path, stack)
        exact = hosts.start(EXACT, "--no-upkeep")
        job = exact.enqueue("settled", idempotency_key="once")
        held = exact.claim("settled", 60, "first").json
        fast = hosts.start(FAST)

        settled = fast.server.job_once(fast.keys["root"], job["id"], "pending")
        again = fast.post("", {"type": "settled", "idempotency_key": "once"})
        done = exact.report("complete", held, "first")

        assert [host.server.call("GET", "/health").status for host in (exact, fast)] == [200] * 2
        assert (settled["error_code"], settled["retry_count"]) == ("lease_expired", 1)
        assert (again.status, again.json["id"]) == (200, job["id"])
        assert (done.status, done.json["status"], done.json["retry_count"]) == (200, "completed", 0)
        assert done.json["finished_at"] >= settled["updated_at"]
        assert not exact.is_past(settled["updated_at"])
        assert exact.get("/stats")["late_reports"] == 1
