"""A queue in real processes, two servers on one store and their clients, of which one after the
other is killed, whenever possible in the middle of a request."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from queuelog_core.identity import Role
from tests.support.dynamodb import CREDENTIALS
from tests.support.forked import Forked, Place, serve
from tests.support.history import CUT_OFF, LOST, History, Tail, Try, read_history
from tests.support.history_clients import TYPES, Life, produce, work
from tests.support.kills import port_for_servers
from tests.support.servers import START_SECONDS, call, eventually, make_key

SERVERS = ("server-0", "server-1")
PRODUCERS = {"shop-0": "shop", "blog-0": "blog", "kiosk-0": "kiosk"}
WORKERS = {"mailer-0": "mailer", "mailer-1": "mailer", "printer-0": "printer", "clerk-0": "clerk"}
"""The mailers share one key: only the attempt tells them apart."""
CLIENTS = {**PRODUCERS, **WORKERS}
DECK = ("server",) * 3 + ("producer",) * 3 + ("worker",) * 4
"""What of ten kills falls on whom."""
SERVER_SHARE = 0.2
BYTES_BETWEEN_KILLS = 3_000
"""Of history, some eight calls: on a slow machine, too, everybody gets on between two kills."""
MEETING_SECONDS = 1.0
PROGRESS_SECONDS = 30.0
_TICK_SECONDS = 0.0005


class Kill(NamedTuple):
    """Whom it hit, and when; CLOCK_MONOTONIC in nanoseconds."""

    kind: str
    life: str
    at: int


class System:
    """All the processes, until `close`. A `bug` is planted into the servers."""

    def __init__(
        self, folder: Path, store: str, seed: int, *, lease_seconds: int = 2, bug: str | None = None
    ) -> None:
        self.folder = folder
        self.seed = seed
        self.kills: list[Kill] = []
        self._lease_seconds = lease_seconds
        policies = [f"[types.{name}]\nlease_seconds = {lease_seconds}\n" for name in TYPES]
        (folder / "types.toml").write_text("".join(policies))
        self._chance = random.Random(seed)
        self._deck: list[str] = []
        self._tails: dict[str, Tail] = {}
        self._servers: dict[str, str] = {}
        self._written = 0
        self.admin_key = make_key(folder, "root", Role.ADMIN)
        roles = dict.fromkeys(PRODUCERS.values(), Role.PRODUCER)
        roles |= dict.fromkeys(WORKERS.values(), Role.WORKER)
        self._keys = {name: make_key(folder, name, role) for name, role in roles.items()}
        # Not by the seed: others may run beside this with the same one.
        self.ports = {name: port_for_servers(random.SystemRandom()) for name in SERVERS}
        self._places = [
            Place("server", name, self._server(port, store, bug))
            for name, port in self.ports.items()
        ]
        for kind, run, names in (("producer", produce, PRODUCERS), ("worker", work, WORKERS)):
            self._places += [Place(kind, name, self._client(name, run)) for name in names]

    def start(self) -> None:
        """Start everybody; servers first, one after the other."""
        for place in self._places:
            place.start()
            if place.kind == "server":
                self._wait_for(place.name)

    def close(self) -> None:
        """Kill what still lives."""
        for place in self._places:
            place.end()
        for tail in self._tails.values():
            tail.close()

    def kill_some(self, number: int) -> None:
        """Kill so many, each after everybody got on a little, and start another in its place."""
        for _ in range(number):
            self._wait_for_progress()
            if not self._deck:
                self._deck = self._chance.sample(DECK, len(DECK))
            kind = self._deck.pop()
            victim = self._meet(kind)
            time.sleep(self._chance.choice((0.0, 0.002, 0.01)) * self._chance.random())
            self.kills.append(Kill(kind, victim.life, time.monotonic_ns()))
            victim.kill()
            victim.start()

    def drain(self, seconds: float) -> bool:
        """Let the producers end, then the workers when nothing is left; whether they did. Nobody
        goes on after it: what they still did would not be in what is read then."""
        is_drained = all(
            self._is_over(what, kind, seconds)
            for what, kind in (("stop", "producer"), ("drain", "worker"))
        )
        for place in self._places:
            if place.kind != "server":
                place.end()
        return is_drained

    def _is_over(self, what: str, kind: str, seconds: float) -> bool:
        """Tell all of a kind to end; whether they did."""
        (self.folder / what).touch()
        give_up_at = time.monotonic() + seconds
        for place in (each for each in self._places if each.kind == kind):
            code = place.join(max(0.0, give_up_at - time.monotonic()))
            assert code in (0, None), self.said()
            if code is None:
                return False
        return True

    def restart_servers(self) -> None:
        """Kill them all, so that only what is stored is left, and start them again."""
        servers = [place for place in self._places if place.kind == "server"]
        for place in servers:
            place.kill()
        for place in servers:
            place.start()
            self._wait_for(place.name)

    def url(self, server: str) -> str:
        return f"http://127.0.0.1:{self.ports[server]}"

    def history(self) -> History:
        """What the clients have written until now."""
        return read_history(iter(sorted(self.folder.glob("*.jsonl"))))

    def said(self) -> str:
        """What processes complained of."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in logs)

    def _server(self, port: int, store: str, bug: str | None) -> Callable[[int], Forked]:
        settings = {**CREDENTIALS, "QUEUELOG_STORE": store}
        return lambda _: Forked(serve, self.folder, port, settings, bug)

    def _client(self, name: str, run: Callable[[Life], None]) -> Callable[[int], Forked]:
        def start(number: int) -> Forked:
            server = self._servers[name] = self._chance.choice(SERVERS)
            identity = CLIENTS[name]
            key, url = self._keys[identity], self.url(server)
            mine = (identity, key, server, url, self.seed, self._lease_seconds)
            life = Life(self.folder, name, number, *mine)
            self._follow(name, life.path)
            return Forked(run, life)

        return start

    def _follow(self, name: str, path: Path) -> None:
        if name in self._tails:
            self._written += self._tails[name].size()
            self._tails[name].close()
        self._tails[name] = Tail(path)

    def _wait_for(self, server: str) -> None:
        def answers() -> bool:
            try:
                return call(self.url(server), "GET", "/health").status == 200
            except OSError:
                return False

        eventually(answers, f"{server} answers", START_SECONDS)

    def _wait_for_progress(self) -> None:
        def written() -> int:
            return self._written + sum(tail.size() for tail in self._tails.values())

        enough = written() + BYTES_BETWEEN_KILLS
        _soon(lambda: written() >= enough, PROGRESS_SECONDS)
        assert written() >= enough, self.said()

    def _meet(self, kind: str) -> Place:
        """One of this kind that has a request in hand; anyone, if nobody has for long."""
        places = {place.name: place for place in self._places if place.kind == kind}
        met: list[Place] = []

        def look() -> bool:
            busy = [name for name, tail in self._tails.items() if tail.is_waiting()]
            names = [self._servers[name] for name in busy] if kind == "server" else busy
            met[:] = [places[name] for name in names if name in places]
            return bool(met)

        _soon(look, MEETING_SECONDS)
        return self._chance.choice(met or list(places.values()))


def _soon(look: Callable[[], bool], seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while not look() and time.monotonic() < give_up_at:
        time.sleep(_TICK_SECONDS)


def in_flight(kills: Sequence[Kill], tries: Sequence[Try]) -> list[Kill]:
    """The kills that hit somebody in the middle of a request: the process that waited for the
    answer, or the server that had not yet given it."""
    cut_off = {each.life for each in tries if each.ending == CUT_OFF}
    lost = [each for each in tries if each.ending == LOST and each.ended_at is not None]

    def counts(kill: Kill) -> bool:
        if kill.kind != "server":
            return kill.life in cut_off
        return any(
            each.server == kill.life and each.sent_at < kill.at < (each.ended_at or 0)
            for each in lost
        )

    return [kill for kill in kills if counts(kill)]
