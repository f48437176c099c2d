"""The store protocol: what the queue asks of an engine, free of any engine's habits.

A store inserts, reads, offers due jobs, and applies a pure transition as one step: read, decide,
write, or nothing if somebody came between. It never chooses a transition. Instants are in ms.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from queuelog_core.errors import ConfigError
from queuelog_core.job import TERMINAL, Job, Priority, Status

COUNTED_MAX = 1000
LOOKED_AT_MAX = 2000
PAGE_BYTES_MAX = 2 * 1024 * 1024

Transition = Callable[[Job], Job]
Position = tuple[int, int]
"""Where a list goes on: `(created_at, id)` of the last job looked at."""


class Filter(NamedTuple):
    """Which jobs a list shows. `types` is what the caller may see; None means no bound."""

    status: Status | None = None
    type: str | None = None
    priority: Priority | None = None
    producer_id: str | None = None
    worker_id: str | None = None
    created_after: int | None = None
    created_before: int | None = None
    types: frozenset[str] | None = None
    newest_first: bool = True


class Dead(NamedTuple):
    """Which failed and cancelled jobs a redrive means; None means no bound. `created_after`
    includes its instant, `created_before` does not."""

    status: Status | None = None
    type: str | None = None
    error_code: str | None = None
    created_after: int | None = None
    created_before: int | None = None

    def means(self, job: Job) -> bool:
        """Whether a job, as it is now, is one of them."""
        return (
            job.status in (Status.FAILED, Status.CANCELLED)
            and self.status in (None, job.status)
            and self.type in (None, job.type)
            and self.error_code in (None, job.error_code)
            and (self.created_after is None or self.created_after <= job.created_at)
            and (self.created_before is None or job.created_at < self.created_before)
        )


class Page(NamedTuple):
    """Part of a list. Only `next` None ends the list; a page may be short or empty before that."""

    jobs: list[Job]
    next: Position | None


@dataclass(frozen=True, slots=True)
class Count:
    """A count that stops at COUNTED_MAX per lane; `capped` tells that there are more."""

    count: int
    capped: bool


class Taken(NamedTuple):
    """What a claim got. `replayed`: an earlier claim with this key had got them; `next_due_at` is
    as of then, where it was asked for; `lost`: id and attempt of what was claimed too, but has lost
    its payload."""

    jobs: Sequence[Job]
    replayed: bool
    next_due_at: int | None = None
    lost: Sequence[tuple[int, int]] = ()


class Stats(NamedTuple):
    """`statuses` maps type to status to number of jobs; `oldest_due_at` names each priority."""

    exact: bool
    statuses: Mapping[str, Mapping[Status, int]]
    due: Count
    delayed: Count
    expired_leases: Count
    oldest_due_at: Mapping[Priority, int | None]
    late_reports: int


class Store(Protocol):
    """All methods are safe for many threads and processes, and raise StoreBusy when the store
    cannot be had in time, StoreUnavailable when it is broken or the outcome is unknown."""

    def insert(self, job: Job) -> tuple[Job, bool]:
        """Store a new job and give it its id. With an idempotency key that its producer has used
        already: the job of that time and False."""

    def insert_many(self, jobs: Sequence[Job]) -> list[tuple[Job, bool]]:
        """`insert` for each: all or none where the store has transactions, else one by one. When it
        raises, each of them may be stored; a key makes it safe to repeat."""

    def get(self, job_id: int) -> Job | None:
        """The job with payload, result and the text of its newest failure."""

    def list(self, where: Filter, limit: int, after: Position | None) -> Page:
        """Jobs in the order of creation; looks at LOOKED_AT_MAX rows and PAGE_BYTES_MAX at most."""

    def get_with_errors(self, job_id: int) -> tuple[Job, Mapping[int, str]] | None:
        """`get`, and the texts of the failures that the history still names, by attempt."""

    def claim(
        self,
        now: int,
        types: Sequence[str],
        limit: int,
        settle: Transition,
        claim: Transition,
        claim_key: bytes | None = None,
        *,
        tell_next_due: bool = False,
    ) -> Taken:
        """Settle some overdue leases of these types, then claim the best due jobs; or give those
        that still run under `claim_key`, when there are any. No attempt is given to two callers."""

    def update(self, job_id: int, transition: Transition) -> tuple[Job, bool] | None:
        """Apply a transition: the job as it is then and whether it changed; None without a job.
        Raises what the transition raises."""

    def find_dead(self, where: Dead, limit: int) -> Sequence[int]:
        """Ids of failed and cancelled jobs, in the order of creation."""

    def update_many(self, job_ids: Sequence[int], transition: Transition) -> int:
        """`update` for each, without those that are gone or raise a Conflict; how many changed."""

    def next_due_at(self, types: Sequence[str]) -> int | None:
        """The earliest instant at which a pending job is due or a lease ends; None if drained."""

    def settle_overdue(self, now: int, limit: int, settle: Transition) -> int:
        """Settle leases that ran out, also of types that nobody polls; how many."""

    def stats(self, now: int, types: Sequence[str] | None) -> Stats:
        """Numbers for these types (None: all), never by a full scan; `exact` tells whether they are
        those of one instant."""

    def purge(
        self,
        before: int,
        limit: int,
        statuses: Iterable[Status] = TERMINAL,
        *,
        to_the_end: bool = False,
    ) -> int:
        """Delete jobs of these terminal statuses that finished before an instant; how many. It may
        return 0 early, where jobs that stay have to be looked at, unless it is to go to the end."""

    def check_writable(self) -> None:
        """Commit a one-row update, waiting a second at most for others."""

    def flush(self) -> None:
        """Write what was only counted so far, where a process may be frozen after its answer, or
        dropped. What cannot be written is kept for the next time."""

    def close(self) -> None:
        """Give back what the store holds; the next call opens it again."""


def open_store(url: str, kept_days: int | None = None) -> Store:
    """Open `sqlite:///relative` or `sqlite:////absolute`, made or upgraded if need be; or
    `dynamodb://table`, which must be there, with `?region=…&endpoint=…&shards=…` if need be.

    `?volume=local|network` overrides what the mount table says. `kept_days`, how long finished jobs
    are kept, is for a store that deletes some by itself when no upkeep runs. Raises ConfigError
    for a wrong address, StoreUnavailable for a file that cannot be used.
    """
    if is_table(url):
        store: Store = tables().open_dynamodb(url, kept_days)
        return store
    from queuelog_core.stores.sqlite import open_sqlite

    return open_sqlite(*path_and_query(url))


def is_table(url: str) -> bool:
    """Whether an address names a table of DynamoDB and no file."""
    return url.startswith("dynamodb:")


def tables() -> Any:
    """The module that opens tables. Raises ConfigError without boto3."""
    try:
        from queuelog_core.stores import dynamodb_address
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"a store in DynamoDB needs {error.name}: pip install 'queuelog[aws]'"
        ) from error
    return dynamodb_address


def path_and_query(url: str) -> tuple[str, str]:
    """What the address of a file says. Raises ConfigError for any other."""
    if is_table(url):
        raise ConfigError(
            "this is for a store that is a file; DynamoDB backs its tables up by itself"
        )
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme == "sqlite" and len(parts.path) > 1 and not (parts.netloc or "#" in url):
            return parts.path[1:], parts.query
    raise ConfigError("QUEUELOG_STORE looks like sqlite:///.queuelog/queuelog.db")
