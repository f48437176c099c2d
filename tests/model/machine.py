"""The machine: each rule is a verb, or time going by, in a state in which it means something."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tests.model import scene
from tests.model.calls import Request
from tests.model.reports import Reports
from tests.model.world import SECOND

producers = st.sampled_from(["producer", "producer", "low-producer", "admin"])
processes = st.sampled_from(["mailer-1", "mailer-2", "printer", "mailer-1", "painter", "operator"])
keys = st.sampled_from(["k1", "k2", "ключ"])
picks = st.integers(0, 31)
enqueues = st.sampled_from(scene.ENQUEUES)
claims = st.sampled_from(scene.CLAIMS)
CROWD = 20
readers = st.sampled_from(["admin", "admin", "producer", "low-producer", "worker", "pdf-worker"])


class Machine(Reports):
    """All verbs, by two producers, three workers of which two share a key, and an admin."""

    @rule(who=producers, body=enqueues)
    def enqueue(self, who: str, body: scene.Body) -> None:
        self.call("enqueue", who, body=self._within_cap(who, body))

    @rule(who=producers, body=enqueues, key=keys, way=st.sampled_from(["body", "header", "both"]))
    def enqueue_by_key(self, who: str, body: scene.Body, key: str, way: str) -> None:
        asked = self._within_cap(who, body)
        if way != "header":
            asked = asked | {"idempotency_key": key}
        self.call("enqueue", who, body=asked, header=None if way == "body" else key)

    @rule(pick=picks, change=st.sampled_from(["", "", "body", "producer", "case", "keys differ"]))
    def enqueue_again(self, pick: int, change: str) -> None:
        """A key that was used before, with the same request or with another."""
        used = self._requests("enqueue", "idempotency_key")
        if not used:
            body = {"type": "sync", "priority": "low", "idempotency_key": "first"}
            self.call("enqueue", "producer", body=body)
            return
        request: Request = used[-1 - pick % len(used)]
        priority = request.body.get("priority")
        match change:
            case "body":
                request = request._replace(body={**request.body, "payload": {"another": pick}})
            case "producer":
                other = "producer" if request.key == "low-producer" else "low-producer"
                request = request._replace(key=other)
            case "case" if priority:
                request = request._replace(body={**request.body, "priority": priority.upper()})
            case "keys differ":
                request = request._replace(header="another key")
        self.trial.call(request)

    @rule(who=producers, bodies=st.lists(enqueues, min_size=1, max_size=4), keyed=st.booleans())
    def batch(self, who: str, bodies: list[scene.Body], keyed: bool) -> None:
        items = [self.resolved(self._within_cap(who, body)) for body in bodies]
        if keyed:
            # The last two share a key, which may have been used before.
            items = [
                item | {"idempotency_key": f"k{min(index, 2)}"} for index, item in enumerate(items)
            ]
        self.call("batch", who, body={"jobs": items})

    @rule(process=processes, body=claims)
    def claim_some(self, process: str, body: scene.Body) -> None:
        self.claim(process, self._for(process, body))

    @rule(process=processes, body=claims, key=keys)
    def claim_by_key(self, process: str, body: scene.Body, key: str) -> None:
        self.claim(process, self._for(process, body), header=key)

    @rule(pick=picks)
    def claim_again(self, pick: int) -> None:
        """A claim whose answer was lost, sent again by the other process of the same key."""
        used = [exchange for exchange in self.trial.story if exchange.request.verb == "claim"]
        keyed = [exchange.request for exchange in used if exchange.request.header]
        if keyed:
            self.trial.call(keyed[-1 - pick % min(4, len(keyed))], "mailer-2")
        else:
            self.claim("mailer-1", {"limit": 2}, header="k1")

    @rule(
        process=processes,
        body=st.sampled_from([*scene.CLAIMS, *scene.CLAIMS, *scene.CLAIMS_REFUSED]),
    )
    def claim_anything(self, process: str, body: scene.Body) -> None:
        """Maybe there is nothing, maybe it may not."""
        self.call("claim", scene.PROCESSES[process], body=body, process=process)

    @rule(pick=picks, who=st.sampled_from(["admin", "admin", "owner", "owner", "producer"]))
    def cancel(self, pick: int, who: str) -> None:
        statuses = ("pending", "running") if pick % 4 else ("pending", "running", "cancelled")
        job = self.job_in(statuses, pick)
        names = {scene.CALLERS[key].name: key for key in (*scene.PRODUCERS, "admin")}
        self.call("cancel", names[job["producer_id"]] if who == "owner" else who, job["id"])

    @rule(pick=picks, anything=st.sampled_from([False, False, False, True]))
    def redrive(self, pick: int, anything: bool) -> None:
        job = self.job_in(() if anything and self.jobs() else ("failed", "cancelled"), pick)
        self.call("redrive", "admin", job["id"])

    @rule(body=st.sampled_from(scene.FILTERS), pick=picks)
    def redrive_many(self, body: scene.Body, pick: int) -> None:
        self.job_in(("failed", "cancelled"), pick)
        self.call("redrive_many", "admin", body=body)

    @rule(process=processes, body=claims)
    def leave_a_crowd(self, process: str, body: scene.Body) -> None:
        """More leases run out at once than one claim settles of a type."""
        if len(self.jobs()) > CROWD:
            self.claim(process, self._for(process, body))
            return
        self.call("batch", "producer", body={"jobs": [{"type": "pdf", "max_retries": 1}] * CROWD})
        for _ in range(2):
            self.call("claim", "worker", body={"types": ["pdf"], "limit": 16, "lease_seconds": 3})
            self.trial.clock.advance(0.001)
        self.trial.clock.advance(3)
        self.call("claim", scene.PROCESSES[process], body=self._for(process, body), process=process)

    @rule(seconds=st.sampled_from([0.001, 0.999, 1, 5, 30, 90]))
    def wait(self, seconds: float) -> None:
        self.trial.clock.advance(seconds)

    @rule(pick=st.sampled_from([0, 0, 0, 1, 2, 5, -1]), offset=st.sampled_from([0, 0, -1, 1]))
    def wait_for_what_comes(self, pick: int, offset: int) -> None:
        """To an instant at which something changes, or a millisecond beside it."""
        ahead = self.instants_ahead()
        if ahead:
            self.wait_until(ahead[min(pick, len(ahead) - 1)] + offset)

    @rule(wait=st.sampled_from(["", "lease", "retention"]))
    def keep_up(self, wait: str) -> None:
        """The upkeep, most often when a lease or a retention is over."""
        finished = [job["finished_at"] for job in self.jobs("completed", "failed", "cancelled")]
        if wait == "retention" and finished:
            self.wait_until(min(finished) + scene.RETENTION_SECONDS * SECOND + 1)
        if wait == "lease":
            self.wait_until(min(job["lease_expires_at"] for job in self.running()))
        self.call("upkeep", "admin", body={"retention_seconds": scene.RETENTION_SECONDS})

    @rule(whole=st.sampled_from([False, False, False, True]))
    def restart(self, whole: bool) -> None:
        """Nothing is remembered but what is stored."""
        self.store.close()
        if whole:
            self.trial.restart(self.store)

    @rule(verb=st.sampled_from(["get", "attempts"]), key=readers, pick=picks)
    def read(self, verb: str, key: str, pick: int) -> None:
        jobs = self.jobs()
        self.call(verb, key, jobs[pick % len(jobs)]["id"] if jobs and pick else scene.ATTEMPT_MAX)

    @rule(key=readers, query=st.sampled_from(scene.QUERIES))
    def read_list(self, key: str, query: scene.Body) -> None:
        self.call("list", key, body=query)

    @rule(
        key=st.sampled_from(["admin", "worker", "pdf-worker"]),
        verb=st.sampled_from(["stats", "health"]),
    )
    def read_numbers(self, key: str, verb: str) -> None:
        self.call(verb, key)

    @invariant()
    def count(self) -> None:
        self.figures.looks += 1

    def _requests(self, verb: str, field: str) -> list[Any]:
        asked = (exchange.request for exchange in self.trial.story)
        return [r for r in asked if r.verb == verb and (r.header or field in r.body)]

    def _within_cap(self, who: str, body: scene.Body) -> scene.Body:
        """A body that this key may send: refusals have a rule of their own."""
        if who == "low-producer" and body.get("max_retries") != 1:
            return {name: value for name, value in body.items() if name != "priority"}
        return body

    def _for(self, process: str, body: scene.Body) -> scene.Body:
        return body if process != "painter" else {**body, "types": ["pdf"]}
