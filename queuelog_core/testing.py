"""A queue for tests of handlers and producers: the real server in this process, a clock by hand.

    with LocalQueue(worker) as queue:
        sign_up("ada", queue.client)
        queue.run_due()
        assert queue.jobs(status="completed")

Nothing goes over a network, and nothing runs but what the test runs.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from queuelog_core.client import Client, Job
from queuelog_core.client.retries import Patience
from queuelog_core.clock import SystemClock
from queuelog_core.identity import Role
from queuelog_core.job import Priority
from queuelog_core.job_types import Backoff, BackoffKind, JobTypes, Policy, load_job_types
from queuelog_core.key_registry.file import FileRegistry
from queuelog_core.queue import Queue
from queuelog_core.stores import open_store
from queuelog_core.worker import Discard, Drained, HeldJob, Retry, Worker
from queuelog_core.worker.reporting import report, run

try:
    from queuelog_core.http.app import create_app
    from queuelog_core.http.in_process import in_process
    from queuelog_core.http.key_identity import identify_by_key
except ModuleNotFoundError as missing:
    raise ImportError(
        f"queuelog_core.testing runs the server, which needs {missing.name}:"
        " pip install 'queuelog[server]'"
    ) from missing

RUNS_MAX = 10_000
_BACKOFF = Backoff(BackoffKind.EXPONENTIAL, base_seconds=2, max_seconds=3600)


class LocalQueue:
    """A queue of its own, on a temporary file; use it as a context manager.

    `client` is for producers, `admin` may do everything. `job_types` is the path of a type
    registry, or names beside those of the workers' handlers. Time stands still until `advance`;
    only a call that waits lets it pass, and runs what becomes due meanwhile.
    """

    def __init__(self, *workers: Worker, job_types: str | Path | Iterable[str] = ()) -> None:
        self._workers = workers
        self._handlers = dict(item for each in workers for item in each.handlers.items())
        types = _job_types(job_types, self._handlers)
        self._now = SystemClock()()
        self._folder = TemporaryDirectory(prefix="queuelog-")
        self._store = open_store(f"sqlite:///{self._folder.name}/queuelog.db")
        registry = FileRegistry(Path(self._folder.name) / "keys.json", self._clock)
        # Without jitter: the tests say when a retry is due.
        queue = Queue(self._store, types, self._clock, random=lambda: 0.0)
        transport = in_process(create_app(queue, identify_by_key(registry)))
        patience = Patience(monotonic=lambda: self._now / 1000, sleep=self._pass)

        def client(role: Role) -> Client:
            _, key = registry.create(role.value, role, priority_max=Priority.CRITICAL)
            return Client("http://local", key, transport=transport, patience=patience)

        self.client, self.admin, self._runner = map(
            client, (Role.PRODUCER, Role.ADMIN, Role.WORKER)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()
        self._folder.cleanup()

    @property
    def time(self) -> datetime:
        """What its clock shows, in UTC; at the start the real time."""
        return datetime.fromtimestamp(self._now / 1000, UTC)

    def advance(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> None:
        """Set the clock forward. What becomes due runs at the next `run_due`."""
        passed = timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        self._now += passed // timedelta(milliseconds=1)

    def run_due(self, *, raise_errors: bool = False) -> Drained:
        """Run what is due, one job after the other in the order of claims, in this thread.

        Also what handlers enqueue meanwhile. A failure is reported as by a worker; `raise_errors`
        then raises it here, unless it is Retry or Discard. Meanwhile the `client` of each worker
        calls this queue, with a worker's key.
        """
        with contextlib.ExitStack() as stack:
            for worker in self._workers:
                stack.enter_context(worker.using(self._runner))
            return self._run_due(raise_errors=raise_errors)

    def jobs(self, **filters: Any) -> list[Job]:
        """All jobs, the oldest first, with everything that can be seen; see Client.jobs."""
        return list(self.admin.jobs(**{"order": "asc", **filters}))

    def _run_due(self, *, raise_errors: bool) -> Drained:
        outcomes: Counter[str] = Counter()
        for _ in range(RUNS_MAX):
            claimed = self._runner.claim(list(self._handlers)) if self._handlers else None
            if not claimed or not claimed.jobs:
                return Drained(**outcomes)
            held = HeldJob(claimed.jobs[0])
            ended = run(self._handlers[held.type], held)
            outcomes[report(self._runner, held, ended)] += 1
            raised = ended.raised
            if raised is not None and _is_for_the_test(raised, raise_errors=raise_errors):
                raise raised
        raise RuntimeError(f"{RUNS_MAX} jobs ran without an end: does one enqueue itself?")

    def _clock(self) -> int:
        return self._now

    def _pass(self, seconds: float) -> None:
        self._now += max(1, round(seconds * 1000))
        self.run_due()


def _job_types(asked: str | Path | Iterable[str], handled: Iterable[str]) -> JobTypes:
    if isinstance(asked, str | Path):
        return load_job_types(Path(asked))
    return JobTypes({name: Policy(backoff=_BACKOFF) for name in {*handled, *asked}})


def _is_for_the_test(raised: BaseException, *, raise_errors: bool) -> bool:
    """Ctrl-C and pytest's own ends are never a handler's."""
    if isinstance(raised, Exception):
        return raise_errors and not isinstance(raised, Retry | Discard)
    return not isinstance(raised, SystemExit)
