"""A fixed script of requests that meets faults of the disk, and how each of them has to be told.

What is refused is sent again as it stands, until it is done: so the end must be the same as if
nothing had failed.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.support.servers import Answer

TRIES = 4
PATIENCE = 3
"""How many refusals a lasting fault is given before it is lifted."""
BIG = "x" * 40_000
_INSIDE = ("Traceback", ".py", ".db", "sqlite", "SQLITE", "Error")

Send = Callable[[str, str, str, Any, Mapping[str, str]], Answer]
"""Method, path, key, body, headers."""


class Keys(NamedTuple):
    producer: str = "producer"
    worker: str = "worker"
    admin: str = "admin"


class Faults:
    """How often something was refused; lifts a lasting fault when it has been refused enough."""

    def __init__(self, lift: Callable[[], None] | None) -> None:
        self._lift = lift
        self._spent = False
        self.refusals = 0

    @property
    def lasting(self) -> bool:
        return self._lift is not None

    def refuse(self) -> None:
        """One more refusal. A fault of one time may cause just one."""
        self.refusals += 1
        assert not self._spent, "refused although the faults are over"
        if self._lift is None:
            self._spent = True
        elif self.refusals == PATIENCE:
            self._lift()
            self._lift = None
            self._spent = True


class Script:
    """Asks, repeats, and keeps what must be in the log."""

    def __init__(self, send: Send, keys: Keys, faults: Faults, tick: Callable[[], None]) -> None:
        self._send = send
        self.keys = keys
        self._faults = faults
        self._tick = tick
        self.refused: list[str] = []
        """Ids of the requests that were refused."""
        self.extra: dict[str | None, bool] = {}
        """Keys of further jobs, and whether they were acknowledged; None is a job without one."""

    def ask(self, method: str, path: str, key: str, body: Any = None, **headers: str) -> Any:
        """What the request was answered in the end; each call is a second after the last one."""
        self._tick()
        for _ in range(TRIES):
            answer = self._send(method, path, key, body, headers)
            if answer.status != 503:
                assert answer.status in (200, 201, 202), (method, path, answer)
                return answer.json
            lasts = self._faults.lasting
            self._take(answer)
            if lasts:
                self._go_on_meanwhile()
        raise AssertionError(f"{method} {path} is refused although the faults are over: {answer}")

    def enqueue_once(self) -> None:
        """Without a key nothing tells a second job from the first, so nobody may try again; this
        one is large enough for a checkpoint, which fails when the commit is done."""
        body = {"type": "sync", "payload": {"text": BIG + BIG[:20_000]}}
        answer = self._send("POST", "/jobs", self.keys.producer, body, {})
        if answer.status == 503:
            self._take(answer)
        else:
            assert answer.status == 201, answer
        self.extra[None] = answer.status == 201

    def _take(self, answer: Answer) -> None:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        assert headers["content-type"] == "application/problem+json", answer
        assert answer.json["code"] == "store-unavailable", answer
        assert 1 <= int(headers["retry-after"]) <= 20, answer
        assert not any(word in answer.text for word in _INSIDE), answer
        self.refused.append(headers["x-request-id"])
        self._faults.refuse()

    def _go_on_meanwhile(self) -> None:
        """While the disk fails, some things go on: others may be refused, none be told wrongly."""
        key = f"extra-{len(self.extra)}"
        body = {"type": "sync", "idempotency_key": key}
        for method, path, sent in (("GET", "/jobs", None), ("POST", "/jobs", body)):
            answer = self._send(method, path, self.keys.producer, sent, {})
            if answer.status == 503:
                self._take(answer)
            else:
                assert answer.status in (200, 201), answer
        self.extra[key] = answer.status == 201

    def enqueue(self, key: str, **fields: Any) -> Any:
        body = {"type": "email", "idempotency_key": key, **fields}
        return self.ask("POST", "/jobs", self.keys.producer, body)

    def claim(self, key: str, limit: int = 1) -> list[Any]:
        """Jobs of the type that only the script enqueues."""
        body = {"types": ["email"], "limit": limit}
        told = self.ask("POST", "/jobs/claim", self.keys.worker, body, **{"Idempotency-Key": key})
        assert len(told["jobs"]) == limit, told
        return list(told["jobs"])

    def report(self, verb: str, job: Any, **fields: Any) -> Any:
        """The answer, which a look at the job has to confirm."""
        body = {"attempt": job["attempt"], **fields}
        told = self.ask("POST", f"/jobs/{job['id']}/{verb}", self.keys.worker, body)
        seen = self.ask("GET", f"/jobs/{job['id']}", self.keys.worker)
        if verb == "heartbeat":
            assert seen["lease_expires_at"] == told["lease_expires_at"]
        else:
            assert seen == told
        return told

    def operate(self, verb: str, job_id: int) -> None:
        told = self.ask("POST", f"/jobs/{job_id}/{verb}", self.keys.admin)
        assert self.ask("GET", f"/jobs/{job_id}", self.keys.admin) == told


def play(script: Script) -> None:
    """Every verb, each of them on disk when it is answered."""
    script.enqueue("a", payload={"n": 1})
    script.enqueue_once()
    batch = [
        {"type": "email", "idempotency_key": key, "payload": {"text": text}}
        for key, text in (("b", "b"), ("c", BIG), ("d", "d"))
    ]
    told = script.ask("POST", "/jobs/batch", script.keys.producer, {"jobs": batch})
    third = told["results"][1]["id"]
    first, second = script.claim("one", limit=2)
    script.report("heartbeat", first)
    script.report("fail", first, error="smtp down", error_code="smtp_down")
    script.report("complete", second, result=[1])
    script.operate("cancel", third)
    script.operate("redrive", third)
    [again] = script.claim("two")
    script.report("complete", again, result={"text": BIG})
    [held] = script.claim("three")
    script.report("release", held)
    [failing, kept] = script.claim("four", limit=2)
    script.report("fail", failing, error="no such address", retryable=False)
    script.report("heartbeat", kept, extend_seconds=1800)
    body = {"filter": {"status": "failed"}, "limit": 10}
    script.ask("POST", "/jobs/redrive", script.keys.admin, body)


def settle_extras(script: Script) -> None:
    """What was acknowledged while the disk failed is there; the rest may be sent again."""
    for key, acknowledged in script.extra.items():
        known = [job for job in _jobs(script) if job["idempotency_key"] == key]
        assert len(known) == 1 or not (known or acknowledged), (key, known)
        if key is None:
            continue
        body = {"type": "sync", "idempotency_key": key}
        told = script.ask("POST", "/jobs", script.keys.producer, body)
        assert not known or known[0]["id"] == told["id"]


def story(script: Script) -> str:
    """All that can be seen of the script's own jobs, but their ids."""
    seen: dict[str, Any] = {}
    for job in _jobs(script):
        key = job["idempotency_key"]
        if key in script.extra:
            continue
        tried = script.ask("GET", f"/jobs/{job['id']}/attempts", script.keys.admin)
        assert job.pop("id") and key not in seen
        seen[key] = [job, tried]
    own = [seen[key] for key in sorted(seen)]
    return json.dumps(own, sort_keys=True, indent=1)


def timeless(told: str) -> str:
    """The story of a real clock, which is never the same: only whether there is a time is left."""

    def blur(found: dict[str, Any]) -> dict[str, Any]:
        return {name: bool(it) if name.endswith("_at") else it for name, it in found.items()}

    return json.dumps(json.loads(told, object_hook=blur), indent=1)


def _jobs(script: Script) -> list[Any]:
    return list(script.ask("GET", "/jobs?limit=200", script.keys.admin)["jobs"])
