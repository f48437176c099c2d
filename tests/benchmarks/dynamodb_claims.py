"""What a claim costs on DynamoDB behind a backlog: its requests and read units, on dynalite.

    python -m tests.benchmarks.dynamodb_claims

Requests and units do not depend on the machine; times do. Read units are reckoned by AWS's rule
from what comes back, since dynalite counts none for an empty query. Write units are the same for
every claim and pinned in tests/stores/test_dynamodb_units.py.
"""

import itertools
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queuelog_core import transitions
from queuelog_core.job import Job, Priority, Status
from queuelog_core.reports import Verb
from queuelog_core.stores.dynamodb_client import connect, encode
from queuelog_core.stores.dynamodb_items import encode_job
from tests.benchmarks.measuring import scratch
from tests.support.backlogs import BACKLOGS, TYPES_CLAIMED
from tests.support.dynamodb import READS, REGION, Engine, Kept, dynalite
from tests.support.engines import with_credentials
from tests.support.factories import NOON, pending_job, report
from tests.support.stores import claim

FEW, MANY = 100, 100_000
ROUNDS = 20
PER_WRITE = 25
CASES = [
    *((f"{rows:,} due", rows, "all due") for rows in (FEW, 1_000, 10_000, MANY)),
    (f"{MANY:,} delayed in front", MANY, "delayed in front"),
    (f"{MANY:,} of a type nobody claims", MANY, "a rare type"),
    (f"{MANY:,} live leases", MANY, "live leases"),
    (f"{MANY:,} completed and kept", MANY, "completed kept"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A claim of four types behind a backlog; `milliseconds` is the median, with the engine's."""

    name: str
    queries: float
    other_reads: float
    writes: float
    read_units: float
    milliseconds: float


class Counted(Kept):
    """A client that counts its calls by name, and the units of what they read."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.calls: Counter[str] = Counter()
        self.units = 0.0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(**request: Any) -> Any:
            answer = method(**request)
            self.calls[name] += 1
            if name == "query":
                self.units += 0.5 * _blocks(answer["Items"])
            elif name == "batch_get_item":
                found = itertools.chain.from_iterable(answer["Responses"].values())
                self.units += sum(_blocks([item]) for item in found)
            return answer

        return call


def _blocks(items: Sequence[Mapping[str, Any]]) -> int:
    """How many times 4 KiB are paid for."""
    size = sum(
        len(name) + len(str(*kind.values())) for item in items for name, kind in item.items()
    )
    return max(1, -(-size // 4096))


def measure(folder: Path) -> list[Cost]:
    """One row a backlog, each in a table of its own."""
    costs = []
    with with_credentials(), dynalite(folder) as engine:
        for name, rows, backlog in CASES:
            costs.append(_measure(engine, name, rows, BACKLOGS[backlog]))
            print(_row(costs[-1]), flush=True)
    return costs


def _measure(engine: Engine, name: str, rows: int, backlog: Mapping[str, Any]) -> Cost:
    table = engine.make_table()
    _fill(engine, table, itertools.islice(_jobs(**backlog), rows))
    client = Counted(connect(REGION, engine.endpoint))
    store = engine.open(table, client=client)
    extra = [pending_job(type=name, priority=Priority.LOW) for name in TYPES_CLAIMED]
    store.insert_many(extra * ROUNDS)
    claim(store, types=TYPES_CLAIMED)
    client.calls.clear()
    client.units = 0.0
    spent = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        assert claim(store, types=TYPES_CLAIMED)
        spent.append((time.perf_counter() - started) * 1000)
    reads = sum(client.calls[each] for each in READS) - client.calls["query"]
    cost = Cost(
        name=name,
        queries=client.calls["query"] / ROUNDS,
        other_reads=reads / ROUNDS,
        writes=client.calls["update_item"] / ROUNDS,
        read_units=client.units / ROUNDS,
        milliseconds=statistics.median(spent),
    )
    store.close()
    engine.connect().delete_table(TableName=table)
    return cost


def _jobs(*, types: int, status: str, run_at: int) -> Iterator[Job]:
    """The backlog that tests/support/backlogs.py makes in SQLite; ids beyond those of a store."""
    for number in itertools.count():
        job = pending_job(
            id=1_000_000_000 + number,
            type=TYPES_CLAIMED[number % types] if types else "other",
            priority=Priority(number // 20 % 4 * 10),
            run_at=run_at,
        )
        if status != Status.PENDING:
            job = transitions.claim(job, NOON, "mailer", 86_400_000)
        if status == Status.COMPLETED:
            job = transitions.complete(job, NOON, report(Verb.COMPLETE, 1), None)
        yield job


def _fill(engine: Engine, table: str, jobs: Iterator[Job]) -> None:
    while some := list(itertools.islice(jobs, PER_WRITE)):
        puts = [
            {"PutRequest": {"Item": encode({**encode_job(job, 1), "pl": job.payload})}}
            for job in some
        ]
        answer = engine.connect().batch_write_item(RequestItems={table: puts})
        assert not answer.get("UnprocessedItems")


def _row(cost: Cost) -> str:
    return (
        f"| {cost.name} | {cost.queries:.1f} | {cost.other_reads:.1f} | {cost.writes:.1f}"
        f" | {cost.read_units:.1f} | {cost.milliseconds:.0f} |"
    )


def table(costs: Sequence[Cost]) -> str:
    """The rows in Markdown."""
    heads = (
        "| behind | queries | other reads | writes | read units | ms |\n|---|---|---|---|---|---|"
    )
    return "\n".join([heads, *map(_row, costs)])


if __name__ == "__main__":
    with scratch() as place:
        print(table(measure(place)))
