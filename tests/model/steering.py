"""How the machine comes to states in which a verb means something."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from queuelog_core.stores import Store
from tests.model.calls import Job, Request
from tests.model.figures import Figures
from tests.model.scene import PROCESSES, RETENTION_SECONDS, Body
from tests.model.trial import Grant, Trial
from tests.model.wire import Reply
from tests.model.world import SECOND, TERMINAL, text

_T = TypeVar("_T")


class Steering(RuleBasedStateMachine):
    """A machine whose rules first make what they need, so that each may be the first.

    Rules without preconditions also keep Hypothesis, which turns off some rules in each example,
    from throwing examples away.
    """

    def __init__(self, store: Store, figures: Figures) -> None:
        super().__init__()
        self.store = store
        self.trial = Trial(store, figures)
        self.figures = figures
        figures.examples += 1

    def teardown(self) -> None:
        self.store.close()

    def call(
        self,
        verb: str,
        key: str,
        job_id: int | None = None,
        body: Mapping[str, Any] | None = None,
        header: str | None = None,
        process: str = "",
    ) -> Reply:
        """One call of a verb; offsets in the body become instants."""
        request = Request(verb, key, job_id, self.resolved(body or {}), header)
        return self.trial.call(request, process)

    def resolved(self, body: Mapping[str, Any]) -> Body:
        """`NAME_in: seconds` becomes `NAME: instant`, `NAME_of: n` the creation of a job."""
        found: Body = {}
        for name, value in body.items():
            if name.endswith("_in"):
                found[name.removesuffix("_in")] = text(self.trial.clock.now + value * SECOND)
            elif name.endswith("_of"):
                if jobs := self.jobs():
                    found[name.removesuffix("_of")] = text(chosen(jobs, value)["created_at"])
            else:
                found[name] = self.resolved(value) if name == "filter" else value
        return found

    def jobs(self, *statuses: str) -> list[Job]:
        """The jobs of the model in one of these statuses, or all."""
        return self.trial.world.find(lambda job: not statuses or job["status"] in statuses)

    def wait_until(self, at: int) -> None:
        """The clock goes on, and never back."""
        self.trial.clock.now = max(self.trial.clock.now, at)

    def have_due(self, types: Sequence[str]) -> None:
        """Something to claim: what is there by now, what comes next, or a new job."""
        now = self.trial.clock.now
        pending = self.trial.world.pending(types)
        overdue = [j for j in self.trial.world.running(types) if j["lease_expires_at"] <= now]
        if overdue or any(job["run_at"] <= now for job in pending):
            return
        soon = [job["run_at"] for job in pending if job["run_at"] <= now + 60 * SECOND]
        if soon:
            self.wait_until(min(soon))
        else:
            self.call("enqueue", "producer", body={"type": types[0]})

    def claim(self, process: str, body: Mapping[str, Any], header: str | None = None) -> Reply:
        """A claim that should get something."""
        key = PROCESSES[process]
        self.have_due(body.get("types") or (("pdf",) if process == "painter" else ("email", "pdf")))
        return self.call("claim", key, body=body, header=header, process=process)

    def live_grant(self, pick: int) -> Grant:
        """An attempt that still runs."""
        if not self.trial.live_grants():
            self.claim("mailer-1", {})
        return chosen(self.trial.live_grants(), pick)

    def running(self) -> list[Job]:
        """The jobs that run, at least one."""
        if not self.jobs("running"):
            self.claim("mailer-1", {})
        return self.jobs("running")

    def any_grant(self, pick: int) -> Grant:
        """An attempt, most likely an old one."""
        if not self.trial.grants:
            self.claim("mailer-2", {})
        return chosen(self.trial.grants, pick)

    def job_in(self, statuses: Sequence[str], pick: int) -> Job:
        """A job in one of these statuses; made when there is none."""
        if not self.jobs(*statuses):
            if "pending" in statuses:
                self.call("enqueue", "producer", body={"type": "pdf"})
            else:
                grant = self.live_grant(pick)
                body = {"attempt": grant.attempt, "retryable": False}
                self.call("fail", grant.key, grant.job_id, body)
                if not self.jobs(*statuses):
                    self.call("cancel", "admin", grant.job_id)
        return chosen(self.jobs(*statuses) or self.jobs(), pick)

    def instants_ahead(self) -> list[int]:
        """When something becomes possible, or impossible: the next ones first."""
        types, found = self.trial.world.types, set()
        for job in self.jobs():
            found.add(job["run_at"])
            if job["status"] == "running":
                longest = types[job["type"]].max_runtime_seconds * SECOND
                found |= {job["lease_expires_at"], job["claimed_at"] + longest}
            if job["status"] in TERMINAL:
                found.add(job["finished_at"] + RETENTION_SECONDS * SECOND)
        return sorted(at for at in found if at > self.trial.clock.now)


def chosen(items: Sequence[_T], pick: int) -> _T:
    """One of them, counted from the newest."""
    return items[-1 - pick % len(items)]
