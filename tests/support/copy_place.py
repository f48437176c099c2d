"""Addresses of new stores, and `queuelog db copy` between them."""

import itertools
import json
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from click.testing import CliRunner, Result

from queuelog_core.cli import main
from queuelog_core.job import Job, Priority, Status
from queuelog_core.stores import Stats, Store, open_store
from queuelog_core.stores.copied import Copied, Copyable, StoreCopy, Totals
from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client
from tests.support.dynamodb import Engine
from tests.support.factories import NOON, job_in, pending_job
from tests.support.http import ROOT
from tests.support.servers import COMMAND, Server, environment, eventually, running

LARGE = '{"text":"' + "x" * 1_500 + '"}'


def side(store: Store) -> StoreCopy:
    """What a copy asks of a store."""
    return cast(Copyable, store).copying()


def numbers(store: Store, now: int = NOON) -> Stats:
    """The numbers of a store, without those that are 0."""
    stats = store.stats(now, None)
    statuses = {name: +Counter(counts) for name, counts in stats.statuses.items()}
    return stats._replace(exact=True, statuses=statuses)


def many_jobs(count: int) -> Sequence[Copied]:
    """Jobs with keys, texts and results, in turn."""
    made = (
        pending_job(idempotency_key="k", payload=LARGE),
        job_in(Status.COMPLETED, idempotency_key="k", payload=LARGE)._replace(result=LARGE),
        job_in(Status.FAILED, type="pdf")._replace(error="boom", error_attempt=1),
        pending_job(priority=Priority.HIGH, type="sync"),
    )

    def numbered(number: int) -> Copied:
        job: Job = made[number % len(made)]
        key = job.idempotency_key and f"k{number}"
        errors = {} if job.error is None else {1: job.error}
        fields = {"id": number + 1, "created_at": NOON + number, "idempotency_key": key}
        return Copied(job._replace(**fields), errors)  # type: ignore[arg-type]

    return [numbered(number) for number in range(count)]


class Place:
    """Stores in a folder and in an engine, and the command in this process or in one of its own."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self.engine = engine
        self._numbers = itertools.count(1)

    def new(self, kind: str) -> str:
        """The address of a store that is empty."""
        if kind == "dynamodb":
            return self.engine.url(self.engine.make_table())
        return f"sqlite:///{self.folder}/{next(self._numbers)}.db"

    def filled(self, kind: str, jobs: Sequence[Copied]) -> str:
        """The address of a store with these jobs."""
        url = self.new(kind)
        with closing(self.open(url)) as store:
            side(store).put(jobs)
            completed = Counter(one.job.type for one in jobs if one.job.status is Status.COMPLETED)
            side(store).put_totals(Totals(0, {}, completed))
        return url

    def open(self, url: str) -> Store:
        """The store of an address; a table without boto3, which takes longer than the engine."""
        if url.startswith("sqlite:"):
            return open_store(url)
        table = urlsplit(url).netloc
        return DynamoDBStore(Client(self.engine.connect), table)

    def copy(self, source: str, target: str, *options: str) -> Result:
        """What the command prints, and how it ends."""
        arguments = ["db", "copy", "--from", source, "--to", target, *options]
        types = {"QUEUELOG_JOB_TYPES": str(ROOT / "infra" / "job_types.toml")}
        done = CliRunner().invoke(main, arguments, env=types, prog_name="queuelog")
        if not isinstance(done.exception, SystemExit | None):
            raise done.exception
        return done

    def copied(self, source: str, target: str, *options: str) -> dict[str, Any]:
        """What it tells of a copy that must succeed."""
        done = self.copy(source, target, "--json", *options)
        assert done.exit_code == 0, done.output
        return cast(dict[str, Any], json.loads(done.stdout))

    def cut_off(
        self, source: str, target: str, at: int, by: signal.Signals, later_seconds: float = 0
    ) -> Server:
        """A copy in a process of its own that gets a signal once the target has so many jobs, or
        a moment later, unless it has ended by itself before."""
        command = [str(COMMAND), "db", "copy", "--from", source, "--to", target]
        with (
            running(command, self.folder, environment()) as server,
            closing(self.open(target)) as store,
        ):

            def is_far_enough() -> bool:
                return side(store).count() >= at or server.process.poll() is not None

            eventually(is_far_enough, f"{at} jobs are copied", 60 + at / 20)
            time.sleep(later_seconds)
            if server.process.poll() is None:
                server.stop(by)
            return server
