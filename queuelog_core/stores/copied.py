"""What a copy asks of the stores that it goes from and to: all jobs out, and in just as they are.

It is an operator's work, done while nobody else is there; a copy that was cut off is made again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast
from urllib.parse import urlsplit

from queuelog_core.documents import content_digest
from queuelog_core.job import Job
from queuelog_core.stores import Store, is_table, open_store
from queuelog_core.stores.operators import open_file


class Copied(NamedTuple):
    """A job, and the texts of the failures that its history still names, by attempt."""

    job: Job
    errors: Mapping[int, str]

    @property
    def digest(self) -> int:
        """SHA-256 over every field but the version, which only counts the writes of a store."""
        fields = [
            value.hex() if isinstance(value, bytes) else value
            for name, value in self.job._asdict().items()
            if name != "version"
        ]
        return int.from_bytes(content_digest([fields, sorted(self.errors.items())]))

    @property
    def text_bytes(self) -> int:
        """Bytes of payload, result and error texts."""
        texts = (self.job.payload, self.job.result or "", *self.errors.values())
        return sum(len(text.encode()) for text in texts)


def with_errors(job: Job, errors: Mapping[int, str]) -> Copied:
    """A job as it is copied: a store may still hold texts that nobody can ask for any more."""
    named = {job.error_attempt, *(entry.attempt for entry in job.history)}
    return Copied(job, {attempt: errors[attempt] for attempt in errors if attempt in named})


class Running(NamedTuple):
    """How many jobs run, and when the first and the last of their leases end."""

    jobs: int
    first_at: int = 0
    last_at: int = 0


class Totals(NamedTuple):
    """What a store knows beside its jobs: an id that no new one may reach down to, and numbers of
    late reports and of completed jobs by type."""

    last_id: int
    late: Mapping[str, int]
    completed: Mapping[str, int]


class StoreCopy(Protocol):
    """Raises what the store raises; where it is throttled it waits for half a minute first."""

    def count(self) -> int:
        """How many jobs there are; of those of the last moment some may be missing."""

    def running(self) -> Running:
        """The jobs that run, also those whose lease has run out."""

    def export(self) -> Iterator[Sequence[Copied]]:
        """All jobs, some at a time, each once."""

    def read(self, job_ids: Sequence[int]) -> Mapping[int, Copied]:
        """Those of these jobs that there are, as they are now."""

    def put(self, many: Sequence[Copied]) -> None:
        """Store jobs just as they are; one whose id is there stays as it is. Raises ConfigError
        when another job has the idempotency key of one of them."""

    def totals(self) -> Totals:
        """What there is beside the jobs, the completed ones not counted."""

    def put_totals(self, totals: Totals) -> None:
        """Have these numbers in the place of others, and give out no id up to the last one."""

    def write_units(self, one: Copied) -> int:
        """What `put` costs where writes are billed, by an estimate."""

    def close(self) -> None:
        """Give back what the copy holds beside the store."""


class Copyable(Store, Protocol):
    """A store that can be copied."""

    def copying(self) -> StoreCopy:
        """What a copy asks of it. Raises ConfigError for a file of another schema version."""


def open_source(url: str) -> Copyable:
    """A store as it is: a file is neither made nor upgraded. Raises like open_store."""
    found = open_store(url) if is_table(url) else open_file(url)
    return cast(Copyable, found)


def open_target(url: str, kept_days: int, *, dry_run: bool) -> Copyable | None:
    """A store to copy to, made if it is a file; but a dry run makes none: None where there is
    none. Raises like open_store."""
    if dry_run and not is_table(url):
        is_there = Path(urlsplit(url).path[1:]).exists()
        return open_source(url) if is_there else None
    return cast(Copyable, open_store(url, kept_days))
