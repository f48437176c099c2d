"""One product and one model that get the same calls, and must agree after each."""

import json
from typing import Any, NamedTuple

from queuelog_core.job import Job as Stored
from queuelog_core.stores import Filter, Store
from tests.model import checks, scene
from tests.model.calls import Answer, Job, Request
from tests.model.figures import Figures
from tests.model.reference import answer
from tests.model.wire import Reply, assert_as_told, send
from tests.model.world import ATTEMPT_FIELDS, FIELDS, World
from tests.support.engines import counts_exactly
from tests.support.factories import FakeClock
from tests.support.http import Api

JOBS_MAX = 1000
_SAME = [name for name in FIELDS if name not in ("payload", "priority", "status", "result")]
_OF_ATTEMPT = [name for name in ATTEMPT_FIELDS if name not in ("outcome", "error")]


class Grant(NamedTuple):
    """An attempt that a process was given."""

    process: str
    key: str
    job_id: int
    attempt: int


class Exchange(NamedTuple):
    """A call and its answer."""

    at: int
    process: str
    request: Request
    reply: Reply


class Trial:
    """Calls go through it: to the product by HTTP, to the model, and then both are compared."""

    def __init__(self, store: Store, figures: Figures) -> None:
        self.clock = FakeClock()
        self.restart(store)
        self.world = World(scene.CALLERS, scene.TYPES)
        self.figures = figures
        self.story: list[Exchange] = []
        self.grants: list[Grant] = []
        self._leases = checks.Leases()
        self._stored: dict[int, Stored] = {}

    def restart(self, store: Store) -> None:
        """A server that knows nothing but what is stored."""
        self.api = Api(store, self.clock, scene.job_types())

    def call(self, request: Request, process: str = "") -> Reply:
        """One call, compared. An AssertionError tells the whole story so far."""
        reply = send(self.api, request)
        self.story.append(Exchange(self.clock.now, process, request, reply))
        told: Answer | None = None
        try:
            told = answer(self.world, request, self.clock.now, reply.new_ids)
            self.figures.count(request.verb, reply, effect=bool(self.world.changed))
            assert_as_told(request.verb, reply, told, exact=counts_exactly(self.api.store))
            self._look(request, reply)
        except AssertionError as failed:
            failed.add_note("\n".join([*map(_line, self.story), f"The contract tells {told}"]))
            raise
        if request.verb == "claim" and not reply.replayed:
            self.grants += [
                Grant(process, request.key, job["id"], job["attempt"]) for job in reply.jobs
            ]
        return reply

    def live_grants(self) -> list[Grant]:
        """Attempts that still run."""
        return [grant for grant in self.grants if self.runs(grant)]

    def runs(self, grant: Grant) -> bool:
        """Whether an attempt still runs."""
        job = self.world.jobs.get(grant.job_id)
        return job is not None and (job["status"], job["attempt"]) == ("running", grant.attempt)

    def _look(self, request: Request, reply: Reply) -> None:
        """Each job of the product is as the model has it, and only those meant have changed."""
        page = self.api.store.list(Filter(), JOBS_MAX, None)
        before, after = self._stored, {job.id: job for job in page.jobs}
        self._stored = after
        changed = {job_id for job_id, job in after.items() if before.get(job_id) != job}
        gone = before.keys() - after.keys()
        assert changed | gone == self.world.changed
        assert after.keys() == self.world.jobs.keys()
        for job_id in changed:
            _assert_same(after[job_id], self.world.jobs[job_id])
            checks.check_job(after[job_id])
            self.figures.count_arrow(request.verb, before.get(job_id), after[job_id])
            if job_id in before:
                checks.check_change(before[job_id], after[job_id], request.verb)
        for job_id in gone:
            self.figures.count_arrow(request.verb, before[job_id], None)
            checks.check_gone(before[job_id], request.verb, self.clock.now)
        if request.verb == "claim" and not reply.replayed:
            checks.check_order(request, reply, after, self.clock.now)
        self._leases.check(request, reply, self.clock.now)


def _assert_same(stored: Stored, job: Job) -> None:
    assert {name: getattr(stored, name) for name in _SAME} == {name: job[name] for name in _SAME}
    shown: dict[str, Any] = {
        "status": stored.status.value,
        "priority": stored.priority.label,
        "payload": json.loads(stored.payload),
        "result": stored.result and json.loads(stored.result),
    }
    assert shown == {name: job[name] for name in shown}
    history = [[getattr(entry, name) for name in _OF_ATTEMPT] for entry in stored.history]
    assert history == [[entry[name] for name in _OF_ATTEMPT] for entry in job["history"]]
    outcomes = [entry.outcome and entry.outcome.value for entry in stored.history]
    assert outcomes == [entry["outcome"] for entry in job["history"]]


def _line(exchange: Exchange) -> str:
    at, _, request, reply = exchange
    words = [request.verb, request.key, *([request.job_id] if request.job_id else [])]
    sent = [dict(request.body), *([{"Idempotency-Key": request.header}] if request.header else [])]
    said = reply.code or json.dumps(reply.body, ensure_ascii=False)
    asked = json.dumps(sent, ensure_ascii=False)
    return f"{at} {' '.join(map(str, words))} {asked} -> {reply.status} {said} {reply.headers}"
