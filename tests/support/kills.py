"""A server that is killed again and again while calls go on, and what became of their requests."""

import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from queuelog_core.client import Client, HttpTransport, NoAnswer, Request, Response
from tests.support.servers import COMMAND, Server, environment, running

CALLERS = 4
_BEGINS_SECONDS = 30.0
_REFUSED = "connection refused"
_T = TypeVar("_T")


class Watched:
    """The network as `Client()` has it, and what became of the requests."""

    def __init__(self, url: str, timeout_seconds: float = 30.0) -> None:
        self._send = HttpTransport(url, timeout_seconds)
        self.close = self._send.close
        self.begun = threading.Event()
        self.kills = 0
        self.lost: list[int] = []
        self.refused: list[int] = []
        self.replayed: list[int] = []

    def __call__(self, request: Request) -> Response:
        self.begun.set()
        try:
            response = self._send(request)
        except NoAnswer as error:
            (self.refused if str(error).startswith(_REFUSED) else self.lost).append(self.kills)
            raise
        if "idempotent-replayed" in response.headers or b'"replayed":true' in response.body:
            self.replayed.append(self.kills)
        return response


class KilledServer:
    """`queuelog serve` on one port, through all its lives, and a client of it."""

    def __init__(self, stack: ExitStack, folder: Path, key: str, chance: random.Random) -> None:
        self._stack = stack
        self._folder = folder
        self._chance = chance
        self._port = port_for_servers(chance)
        self.watched = Watched(f"http://127.0.0.1:{self._port}")
        self.client = stack.enter_context(
            Client(f"http://127.0.0.1:{self._port}", key, transport=self.watched)
        )
        self.life = self._start()
        self.life.wait_until_ready()
        self._start_seconds = time.monotonic() - self._started_at

    def _start(self) -> Server:
        self._started_at = time.monotonic()
        command = [str(COMMAND), "serve", "--port", str(self._port)]
        return self._stack.enter_context(running(command, self._folder, environment()))

    def during_kills(
        self, call: Callable[[int], _T], calls: int, kills: int, seconds: float, call_seconds: float
    ) -> list[_T]:
        """What `call` gives for each number. The calls become due evenly over the seconds, and
        between the first and the last of them the server is killed and started so many times,
        each time within `call_seconds` after a request was sent: before, in or after its commit."""
        due = threading.Semaphore(0)

        def wait_and_call(number: int) -> _T:
            due.acquire()
            return call(number)

        pool = ThreadPoolExecutor(CALLERS)
        try:
            results = pool.map(wait_and_call, range(calls))
            self._pace(due, calls, kills, seconds, call_seconds)
            return list(results)
        finally:
            due.release(calls)
            pool.shutdown(cancel_futures=True)

    def _pace(
        self, due: threading.Semaphore, calls: int, kills: int, seconds: float, call_seconds: float
    ) -> None:
        lives = [range(n * calls // kills, (n + 1) * calls // kills) for n in range(kills)]
        kill_at = {self._chance.choice(life) for life in lives}
        began_at = time.monotonic()
        for number in range(calls):
            # Late after a slow start of the server the calls catch up.
            time.sleep(max(0.0, began_at + number * seconds / calls - time.monotonic()))
            if number not in kill_at:
                due.release()
                continue
            self._let_live()
            self.watched.begun.clear()
            due.release()
            assert self.watched.begun.wait(_BEGINS_SECONDS)
            time.sleep(self._chance.uniform(0, call_seconds))
            self._kill()

    def _let_live(self) -> None:
        """On a slow machine too a server is up for half of its life: no call meets only dead ones
        until its budget is spent."""
        self.life.wait_until_ready()
        lives_until = self._started_at + 2 * self._start_seconds
        time.sleep(max(0.0, lives_until - time.monotonic()))

    def _kill(self) -> None:
        self.watched.kills += 1
        assert self.life.stop(signal.SIGKILL) == -signal.SIGKILL
        self.life = self._start()

    def figures(self) -> str:
        """How much the kills hit."""
        watched = self.watched
        return (
            f"{watched.kills} kills, {len(set(watched.lost))} of them with requests in flight:"
            f" {len(watched.lost)} answers lost, {len(watched.replayed)} of which the store had;"
            f" {len(watched.refused)} connections refused"
        )


def port_for_servers(chance: random.Random) -> int:
    """A free port that stays free: outside the range from which the kernel takes ports for others
    while no server listens."""
    while True:
        port = chance.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
