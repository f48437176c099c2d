"""A round of kills from the first start to the verdict, and as many rounds as a soak asks for."""

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from queuelog_core.client import Client
from tests.support.history_checker import check, figures
from tests.support.history_evidence import End
from tests.support.http import ROOT
from tests.support.nemesis import SERVER_SHARE, Kill, System, in_flight
from tests.support.seeds import seed

KILLS_WANTED = int(os.environ.get("QUEUELOG_HISTORY_KILLS", "0"))
JOBS_PER_KILL = 4
ROUND_KILLS = 250
DRAIN_SECONDS = 120.0
LEAST_BOUT = 5
READERS = 4
SHOWN_MAX = 3


class Round(NamedTuple):
    """What was found, which should be nothing, and how much was done."""

    found: Mapping[str, list[str]]
    figures: Mapping[str, int]


def play(
    folder: Path,
    store: str,
    number: int,
    kills: int,
    *,
    lease_seconds: int = 2,
    drain_seconds: float = DRAIN_SECONDS,
    bug: str | None = None,
    in_order: bool = True,
) -> Round:
    """Kill so many in the middle of a request, let the rest drain, and judge. `number` is the
    seed; servers with a `bug` may never be drained; `in_order` is as in Evidence."""
    folder.mkdir()
    with closing(System(folder, store, number, lease_seconds=lease_seconds, bug=bug)) as system:
        system.start()
        counted = _kill_until(system, kills)
        is_drained = system.drain(drain_seconds)
        system.restart_servers()
        ends = _read_ends(system)
    history = system.history()
    found = check(history.calls, ends, in_order=in_order)
    if not is_drained:
        # First, since it may explain all others: what waits when the time is up looks stuck.
        found = {"not drained in time": [system.said()], **found}
    servers = sum(kill.kind == "server" for kill in counted)
    told = {"kills": len(system.kills), "in flight": len(counted), "of servers": servers}
    return Round(found, told | figures(history, ends))


def play_soundly(
    folder: Path,
    store: str,
    number: int,
    kills: int,
    *,
    in_order: bool = True,
    look_at: Callable[[Path], None] = lambda _: None,
) -> Mapping[str, int]:
    """A round in which nothing must be found, and its figures. `look_at` may find fault with what
    is left in the place of the round, which is kept after a failure."""
    place = folder / f"seed-{number}"
    # A round leaves some five jobs a kill, and DynamoDB on a busy machine gives ten a second.
    seconds = max(DRAIN_SECONDS, kills)
    found, told = play(
        place, store.format(place), number, kills, drain_seconds=seconds, in_order=in_order
    )
    shown = {name: (len(cases), cases[:SHOWN_MAX]) for name, cases in found.items()}
    assert not found, f"seed {number}, see {place}; {told}: {shown}"
    look_at(place)
    shutil.rmtree(place)
    return told


def _kill_until(system: System, kills: int) -> list[Kill]:
    while True:
        counted = in_flight(system.kills, system.history().tries)
        servers = sum(kill.kind == "server" for kill in counted)
        if len(counted) >= kills and servers >= SERVER_SHARE * len(counted):
            return counted
        system.kill_some(max(LEAST_BOUT, kills - len(counted)))


def _read_ends(system: System) -> list[End]:
    server = next(iter(system.ports))
    with Client(system.url(server), system.admin_key) as admin, ThreadPoolExecutor(READERS) as pool:
        jobs = list(admin.jobs(limit=200))
        histories = pool.map(lambda job: admin.attempts(job.id), jobs)
        return [End(job, found.attempts) for job, found in zip(jobs, histories, strict=True)]


def play_enough(mode: str, kills: int, play_one: Callable[[int, int], Mapping[str, int]]) -> None:
    """One round; in a soak as many as it takes, and what is interrupted goes on where it was."""
    first = seed()
    if KILLS_WANTED == 0:
        _say(mode, play_one(first, kills))
        return
    file = ROOT / ".soak" / f"history-{mode}.json"
    fresh = file.with_suffix(".new")
    file.parent.mkdir(exist_ok=True)
    rounds: list[Mapping[str, int]] = json.loads(file.read_text()) if file.exists() else []
    if _is_enough(rounds):
        rounds = []
    chance = random.Random(first + len(rounds))
    while not _is_enough(rounds):
        number = chance.randrange(2**32)
        began_at = time.monotonic()
        told = play_one(number, ROUND_KILLS)
        rounds.append({"seed": number, **told, "seconds": round(time.monotonic() - began_at)})
        _say(mode, rounds[-1])
        fresh.write_text(json.dumps(rounds, indent=1))
        fresh.replace(file)
    _say(f"{mode}, {len(rounds)} rounds", _sums(rounds))


def _is_enough(rounds: list[Mapping[str, int]]) -> bool:
    sums = _sums(rounds)
    enough = sums.get("acknowledged", 0) >= JOBS_PER_KILL * KILLS_WANTED
    return enough and sums["in flight"] >= KILLS_WANTED


def _sums(rounds: list[Mapping[str, int]]) -> Mapping[str, int]:
    names = [name for name in rounds[0] if name != "seed"] if rounds else []
    return {name: sum(each[name] for each in rounds) for name in names}


def _say(mode: str, told: Mapping[str, int]) -> None:
    shown = ", ".join(f"{name} {count}" for name, count in told.items())
    sys.stdout.write(f"{mode}: {shown}\n")
    sys.stdout.flush()
