"""A queue with jobs of every kind, and all that callers can see of one: what a copy must keep."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from queuelog_core.clock import SystemClock
from queuelog_core.stores import Store
from tests.support.factories import LEASE, FakeClock
from tests.support.http import Api, json_of

HOUR_SECONDS = 3_600
DAY_SECONDS = 86_400
LARGE = "€" * 20_000
TEXT = {"text": "é\u0000\u2028 \U0001f600", "b": [1.5, None], "a": 2**70}
LISTS = ("", "&status=failed", "&status=cancelled", "&type=pdf", "&producer_id=shop", "&order=asc")


class Said(NamedTuple):
    """A request that was made once, and whose repeat must be answered alike everywhere."""

    path: str
    key: str
    body: dict[str, Any]


class Rich:
    """Fills a store, as of an hour ago: leases of then have run out by now."""

    def __init__(self, store: Store) -> None:
        now = SystemClock()()
        self.api = Api(store, FakeClock(now - HOUR_SECONDS * 1000))
        self.said: list[Said] = []

    def fill(self, waiting: int) -> Sequence[Said]:
        """Jobs of every status and history, and so many more that wait; what was said of them."""
        first = self.api.enqueue("producer", delay_seconds=DAY_SECONDS)
        self._finished()
        self._retried()
        self._cancelled()
        self._waiting(waiting)
        self._say(f"/jobs/{first['id']}/cancel", "producer", {})
        # Leases that run out before the copy: one whose worker is asked to stop, and one that is
        # not.
        asked, silent = self._running("sync"), self._running("sync")
        self._ask_to_stop(asked)
        late = {"attempt": 1, "result": "late"}
        self.said.append(Said(f"/jobs/{silent['id']}/complete", "worker", late))
        return self.said

    def _finished(self) -> None:
        done = self._running("email", payload=TEXT, idempotency_key="order-1")
        self._report("complete", done, result={"large": LARGE})
        self._say(f"/jobs/{done['id']}/complete", "worker", {"attempt": 1, "result": "another"})
        late = self._running("email")
        self.api.clock.advance(LEASE / 1000)
        self.api.queue.leases.recover(10)
        self._report("complete", late, result=[])
        stale = self._running("email", retries=0)
        self.api.clock.advance(LEASE / 1000)
        self.api.queue.leases.recover(10)
        refused = self.api.report("fail", stale)
        assert refused.status_code == 409
        self._report("fail", self._running("pdf"), retryable=False, error="boom", error_code="no")

    def _retried(self) -> None:
        for failures in (1, 12):
            job = self._running("pdf", payload={"text": LARGE}, retries=25)
            for number in range(failures):
                text = f"failure {number} " + "x" * 500
                self._report("fail", job, error=text, error_code=f"e{number}")
                job = self._claimed("pdf", job["id"])
            self._report("release", job, delay_seconds=DAY_SECONDS // 2)
        redriven = self._running("email")
        self._report("fail", redriven, retryable=False, error="down")
        self._say(f"/jobs/{redriven['id']}/redrive", "admin", {})
        self._say(f"/jobs/{redriven['id']}/complete", "worker", {"attempt": 1})
        assert self._claimed("email", redriven["id"])["attempt"] == 2
        self._report("complete", {**redriven, "attempt": 2})

    def _cancelled(self) -> None:
        job = self.api.enqueue("producer", idempotency_key="order-2")
        self._say(f"/jobs/{job['id']}/cancel", "producer", {})
        asked = self._running("email")
        self._ask_to_stop(asked)
        self._report("fail", asked, error="stopped")

    def _ask_to_stop(self, job: Any) -> None:
        assert self.api.call("POST", f"/jobs/{job['id']}/cancel").status_code == 202

    def _waiting(self, many: int) -> None:
        for number in range(many):
            kind = ("email", "pdf", "sync")[number % 3]
            sent: dict[str, Any] = {
                "payload": {"n": number, "text": "y" * (number % 7 * 150)},
                "priority": ("low", "medium", "high")[number % 11 % 3],
                "delay_seconds": number % 5 * 60,
            }
            key = ("producer", "other-producer")[number % 2]
            if number % 4 < 2:
                sent["idempotency_key"] = f"waiting-{number // 2}"
            self.api.enqueue(key, kind, **sent)
            if "idempotency_key" in sent:
                self.said.append(Said("/jobs", key, {"type": kind, **sent}))
            self.api.clock.advance(0.001 * (number % 2))

    def _running(self, job_type: str, retries: int = 3, **fields: Any) -> Any:
        sent = {"max_retries": retries, "priority": "critical", **fields}
        job = self.api.enqueue("admin", job_type, **sent)
        if "idempotency_key" in sent:
            self.said.append(Said("/jobs", "admin", {"type": job_type, **sent}))
        return self._claimed(job_type, job["id"])

    def _claimed(self, job_type: str, job_id: int) -> Any:
        job = self.api.claim("worker", types=[job_type])
        assert job["id"] == job_id
        return job

    def _report(self, verb: str, job: Any, **fields: Any) -> None:
        self._say(f"/jobs/{job['id']}/{verb}", "worker", {"attempt": job["attempt"], **fields})

    def _say(self, path: str, key: str, body: dict[str, Any]) -> None:
        self.said.append(Said(path, key, body))
        self.api.call("POST", path, key, body)


def seen(api: Api, job_ids: Sequence[int]) -> dict[str, Any]:
    """What every caller can read: each job for each role, attempts, lists and numbers."""
    told: dict[str, Any] = {}
    for job_id in job_ids:
        job, attempts = f"/jobs/{job_id}", f"/jobs/{job_id}/attempts"
        for key, path in (("admin", job), ("producer", job), ("worker", job), ("admin", attempts)):
            told[f"{key} {path}"] = json_of(api.call("GET", path, key))
            told[f"{key} {path}"].pop("request_id", None)
    for filters in LISTS:
        told[f"list {filters}"] = listed(api, filters)
    numbers = json_of(api.call("GET", "/stats"))
    told["stats"] = {name: numbers[name] for name in numbers if name not in ("as_of", "exact")}
    return told


def listed(api: Api, filters: str = "") -> list[Any]:
    """All pages of a list."""
    jobs: list[Any] = []
    cursor = ""
    while True:
        page = json_of(api.call("GET", f"/jobs?limit=40{filters}{cursor}"))
        jobs += page["jobs"]
        if page["next_cursor"] is None:
            return jobs
        cursor = f"&cursor={page['next_cursor']}"


def repeated(api: Api, said: Sequence[Said]) -> list[Any]:
    """How each request is answered when it comes once more."""
    told = []
    for path, key, body in said:
        reply = api.call("POST", path, key, body)
        document = json.loads(reply.data)
        document.pop("request_id", None)
        replayed = reply.headers.get("Idempotent-Replayed")
        told.append((path, body, reply.status_code, replayed, document))
    return told


def claim_order(api: Api) -> list[tuple[int, int]]:
    """Id and attempt of every job that becomes due, as one worker gets them in the end."""
    api.clock.advance(2 * DAY_SECONDS)
    order = []
    while job := api.claim("worker"):
        order.append((job["id"], job["attempt"]))
    return order
