"""`queuelog serve`: the whole API on waitress, the upkeep, and on request the demo's worker."""

import contextlib
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from waitress.server import create_server
from waitress.wasyncore import dispatcher

from queuelog_core.bootstrap import open_queue
from queuelog_core.client import Client
from queuelog_core.clock import monotonic_seconds
from queuelog_core.config import Config
from queuelog_core.demo import (
    RUNNER,
    banner,
    leave_polling_out_of_the_log,
    sample_keys,
)
from queuelog_core.errors import ConfigError, StoreBusy
from queuelog_core.http.app import create_app
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.key_registry import KeyRegistry, open_registry
from queuelog_core.logs import set_up_logging
from queuelog_core.queue import Queue
from queuelog_core.stores import Store
from queuelog_core.upkeep import keep_up
from queuelog_core.waiting_room import StampingChannel
from queuelog_core.worker import Handler, Worker

THREADS = 8
CONNECTIONS_MAX = 1000
BODY_BYTES_MAX = 10 * 1024 * 1024
GRACE_SECONDS = 30.0
START_TRIES = 5
DEMO_POLL_SECONDS = 1.0
_TICK_SECONDS = 0.02
_LISTEN_SECONDS = 0.5
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - it is recognised, not bound

LoadHandlers = Callable[[Path], Mapping[str, Handler]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to serve. With `load_handlers` the demo: a worker that keeps its files in `folder`.
    `ready` is told the address once it serves."""

    host: str
    port: int
    upkeep: bool
    folder: Path
    load_handlers: LoadHandlers | None = None
    ready: Callable[[str], None] = lambda _url: None


def serve(config: Config, options: Options, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then let what runs finish; a second signal ends it at once.

    Raises ConfigError or StoreUnavailable when it cannot start.
    """
    set_up_logging(config.log_level)
    queue = open_queue(config)
    _refuse_a_store_without_writes(queue.store)
    registry = open_registry(config.keys, queue.clock)
    server = _listen(queue, registry, options)
    url = _url(options.host, server.effective_port)
    stop = _stop_on_signals()
    background = []
    if options.upkeep:
        retention_seconds = config.retention_days * 86_400
        background.append(_thread("upkeep", keep_up, queue, retention_seconds, stop))
    if options.load_handlers is None:
        worker = None
        say(_greeting(url, registry))
    else:
        keys = sample_keys(registry, options.folder / "demo.env", url)
        leave_polling_out_of_the_log(registry.identify(keys[RUNNER]))
        handlers = options.load_handlers(options.folder)
        worker = _demo_worker(Client(url, keys[RUNNER]), handlers, queue)
        if worker.types:
            background.append(_thread("worker", worker.run))
        say(banner(url, keys, options.folder))
    for thread in (_thread("http", server.run), *background):
        thread.start()
    options.ready(url)
    _wait_until(stop)
    say(f"Stopping: what runs has {GRACE_SECONDS:.0f} s to end. Press Ctrl-C again to end at once.")
    if worker is not None:
        worker.stop()
    for thread in background:
        thread.join(GRACE_SECONDS)
    if any(thread.is_alive() for thread in background):
        say("A job still runs and is given up: it runs again when its lease has ended.")
    _drain(server)
    queue.store.close()


def _demo_worker(client: Client, handlers: Mapping[str, Handler], queue: Queue) -> Worker:
    worker = Worker(client, poll_seconds_max=DEMO_POLL_SECONDS, grace_seconds=GRACE_SECONDS)
    for name, run in handlers.items():
        if name in queue.job_types:
            worker.handler(name)(run)
    return worker


def _refuse_a_store_without_writes(store: Store) -> None:
    """Each try waits a second; whoever holds the file longer than all of them is in the way."""
    for _ in range(START_TRIES - 1):
        with contextlib.suppress(StoreBusy):
            return store.check_writable()
    return store.check_writable()


def _listen(queue: Queue, registry: KeyRegistry, options: Options) -> Any:
    try:
        # One socket, whatever a name stands for: waitress' server for several has no address.
        found = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)
        family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        server: Any = create_server(
            create_app(queue, identify_by_key(registry)),
            sockets=[socket.create_server(address[:2], family=family)],
            threads=THREADS,
            connection_limit=CONNECTIONS_MAX,
            max_request_body_size=BODY_BYTES_MAX,
            asyncore_use_poll=True,
            ident="queuelog",
        )
        server.channel_class = StampingChannel
        return server
    except (OSError, UnicodeError) as error:
        where = f"{options.host}:{options.port}"
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            raise ConfigError(f"{where} is taken: stop what uses it, or choose --port") from error
        reason = os.strerror(number) if number and number > 0 else "no such address"
        raise ConfigError(f"{where} cannot be served: {reason}") from error


def _drain(server: Any) -> None:
    """Refuse new connections, then wait until every request taken has been answered."""
    # Closed by the server's own thread: its loop is walking over the very same map.
    server.trigger.pull_trigger(lambda: dispatcher.close(server))
    give_up_at = monotonic_seconds() + GRACE_SECONDS
    while _is_busy(server) and monotonic_seconds() < give_up_at:
        time.sleep(_TICK_SECONDS)


def _is_busy(server: Any) -> bool:
    threads = server.task_dispatcher
    return bool(
        threads.queue
        or threads.active_count
        or any(c.requests or c.total_outbufs_len for c in list(server.active_channels.values()))
    )


def _wait_until(stop: threading.Event) -> None:
    """Again and again: a signal that the kernel hands to another thread ends no wait here."""
    while not stop.wait(_LISTEN_SECONDS):
        pass


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        for number in _STOPPING:
            signal.signal(number, signal.SIG_DFL)
        stop.set()

    for number in _STOPPING:
        signal.signal(number, ask)
    return stop


def _thread(name: str, target: Callable[..., object], *arguments: object) -> threading.Thread:
    return threading.Thread(target=target, args=arguments, name=name, daemon=True)


def _url(host: str, port: int) -> str:
    """Where this machine reaches the server, also when it listens on all addresses."""
    shown = _REACHED_AT.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def _greeting(url: str, registry: KeyRegistry) -> str:
    if registry.records():
        return f"queuelog serves {url}; Ctrl-C stops it."
    return (
        f"queuelog serves {url}; Ctrl-C stops it. There are no keys yet:\n"
        "  queuelog keys create NAME --role producer"
    )
