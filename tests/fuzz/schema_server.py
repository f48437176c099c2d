"""The application under fuzz: a store that holds a job in every status, and a key of every kind.

The store is put back every few requests, so that no status runs dry.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from queuelog_core import transitions
from queuelog_core.http.app import create_app
from queuelog_core.http.cursor import encode_cursor
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.identity import Identity, Role, generate_key
from queuelog_core.key_registry.file import FileRegistry
from queuelog_core.leases import Wanted
from queuelog_core.probe import Probe
from queuelog_core.queue import Queue
from queuelog_core.stores import Filter, open_store
from tests.support.factories import FakeClock, admin, document, new_job, producer, worker
from tests.support.http import plain_types

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
TYPES = ("email", "pdf")
SHOP, BLOG, MAILER = producer("shop"), producer("blog"), worker("mailer")
IDENTITIES = (
    SHOP,
    BLOG,
    MAILER,
    producer("kiosk", types=frozenset({"sync"})),
    worker("idler", types=frozenset()),
    admin("root"),
)
RUNNING, COMPLETED, FAILED = 0, 3, 4
"""Where the ids of the first jobs in these statuses stand; they are shop's."""


class Server:
    """A WSGI application whose store is as seeded again every `reseed_every` requests."""

    def __init__(self, folder: Path, reseed_every: int | None) -> None:
        self.clock = FakeClock()
        self._reseed_every = reseed_every
        self._requests = 0
        self._file = folder / "queuelog.db"
        self._store = open_store(f"sqlite:///{self._file}")
        self.queue = Queue(self._store, plain_types(*TYPES, "sync"), self.clock, lambda: 0.0)
        registry = FileRegistry(folder / "keys.json", self.clock)
        self.keys = make_keys(registry)
        # Its answer tells an age, and made-up values are taken from answers.
        with patch("queuelog_core.http.app.Probe", partial(Probe, monotonic=self._seconds)):
            self._front = self.front(registry)
        self.idempotency_keys = [f"{name}-key" for name in TYPES]
        self.ids = seed(self.queue, self.clock)
        self.own_ids = [job.id for job in self.queue.list(SHOP, Filter(), 200, None).jobs]
        self.cursors = _cursors(self.queue, SHOP)
        self._seeded_at = self.clock.now
        self._store.close()
        self._seeded = self._file.read_bytes()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self._requests += 1
        self.clock.advance(1)
        if self._reseed_every is not None and self._requests % self._reseed_every == 0:
            self.reseed()
        return self._front(environ, start_response)

    def front(self, registry: FileRegistry) -> Wsgi:
        """The local server's application."""
        return create_app(self.queue, identify_by_key(registry))

    def _seconds(self) -> float:
        return float(self._requests)

    def close(self) -> None:
        self._store.close()

    def reseed(self) -> None:
        self._store.close()
        # Written over, for a store whose file was replaced takes it for lost.
        self._file.write_bytes(self._seeded)
        self.clock.now = self._seeded_at


def make_keys(registry: FileRegistry) -> dict[str, str | None]:
    """A key of every identity by its name; then none, junk, an unknown and a revoked one."""
    keys: dict[str, str | None] = {}
    for who in (*IDENTITIES, producer("revoked")):
        record, keys[who.name] = registry.create(
            who.name, who.role, priority_max=who.priority_max, types=who.types
        )
    registry.revoke(record.id)
    return keys | {"none": None, "junk": "junk", "unknown": generate_key(Role.ADMIN)}


def seed(queue: Queue, clock: FakeClock) -> list[int]:
    """For each producer and type a job in every status; the leases live, ran out, were settled."""
    made = []
    for owner in (SHOP, BLOG):
        for name in TYPES:
            made += [_enqueue(queue, owner, name) for _ in range(5)]
            _claim(queue, name, 3600)
            _claim(queue, name, 60)
            _claim(queue, name, 30)
            queue.leases.complete(MAILER, _claim(queue, name, 60), 1, document({"sent": True}))
            _fail(queue, _claim(queue, name, 60))
    clock.advance(45)
    queue.leases.recover(100)
    clock.advance(30)
    for owner in (SHOP, BLOG):
        for name in TYPES:
            made.append(_enqueue(queue, owner, name, idempotency_key=f"{name}-key"))
            made.append(_enqueue(queue, owner, name, delay_seconds=3600))
            made.append(_enqueue(queue, owner, name))
            queue.store.update(made[-1], lambda job: transitions.cancel(job, clock()))
    return made


def _enqueue(queue: Queue, owner: Identity, name: str, **asked: Any) -> int:
    return queue.enqueue(owner, new_job(name, **asked)).job.id


def _claim(queue: Queue, name: str, lease_seconds: int) -> int:
    (job,) = queue.leases.claim(MAILER, Wanted([name], lease_seconds)).jobs
    return job.id


def _fail(queue: Queue, job_id: int) -> None:
    told: dict[str, Any] = {"error": "boom", "error_code": "boom", "retryable": False}
    queue.leases.fail(MAILER, job_id, 1, retry_in_seconds=None, **told)


def _cursors(queue: Queue, reader: Identity) -> list[str]:
    """Those of each page of two, in the list without a filter."""
    cursors, where = [], Filter()
    page = queue.list(reader, where, 2, None)
    while page.next is not None:
        cursors.append(encode_cursor(page.next, where, reader.name))
        page = queue.list(reader, where, 2, page.next)
    return cursors
