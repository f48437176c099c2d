"""Real keys for every caller of the authorization table, and one job in each of its states."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask

from queuelog_core.http.app import create_app
from queuelog_core.http.key_identity import identify_by_key
from queuelog_core.http.lambda_adapter import handle
from queuelog_core.http.lambda_adapter import identify as identify_by_authorizer
from queuelog_core.http.routes import routes_of
from queuelog_core.identity import Role, generate_key
from queuelog_core.job import PRIORITIES, Job
from queuelog_core.key_registry.file import FileRegistry
from queuelog_core.queue import Queue
from queuelog_core.stores import Filter, open_store
from tests.functions.events import http_event, with_headers
from tests.security.authorization_cells import FUNCTIONS
from tests.security.authorization_requests import BODIES, KEYS
from tests.support.factories import FakeClock
from tests.support.http import plain_types
from tests.support.servers import Answer

ON_EVERY_ANSWER = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}.items()
REQUEST_ID = "matrix"
_EXPIRY_SECONDS = 60


def body_of(method: str, path: str, state: str) -> str | None:
    """What a row of the table sends."""
    bodies = BODIES.get(f"{method} {path}", {})
    body = bodies.get(state, bodies.get("any"))
    return None if body is None else json.dumps(body)


class Keys:
    """A real registry with one key for each caller who has or had one."""

    def __init__(self, path: Path) -> None:
        clock = FakeClock()
        self.registry = FileRegistry(path, clock)
        self.secrets: dict[str, str | None] = {
            "none": None,
            "empty": "",
            "junk": generate_key(Role.ADMIN),
        }
        for caller, (name, role, priority_max, types) in KEYS.items():
            record, self.secrets[caller] = self.registry.create(
                name,
                Role(role),
                priority_max=PRIORITIES[priority_max],
                types=None if types is None else frozenset(types),
                expires_at=clock() + _EXPIRY_SECONDS * 1000 if caller == "expired" else None,
            )
            if caller == "revoked":
                self.registry.revoke(record.id)
        clock.advance(_EXPIRY_SECONDS)


class World:
    """A store with a job in each state, and both fronts before it."""

    def __init__(self, path: Path, keys: Keys, clock: FakeClock, ids: dict[str, int]) -> None:
        self.ids = ids
        self.store = open_store(f"sqlite:///{path}")
        self.queue = Queue(self.store, plain_types(), clock, random=lambda: 0.0)
        self.app = create_app(self.queue, identify_by_key(keys.registry))
        self.keys = keys
        self._client = self.app.test_client()
        self._function = cache(self._open_function)
        self._jobs_before = self._jobs()

    def changed(self) -> set[int]:
        """The jobs that came, went or are not as they were at the start."""
        return {job.id for job in self._jobs() ^ self._jobs_before}

    def ask(
        self, front: str, caller: str, method: str, path: str, state: str = "-", query: str = ""
    ) -> Answer:
        """Send what a row of the table stands for, to the server or to the function it is for."""
        if front == "server":
            place = f"{self.place(path, state)}?{query}"
            return self._serve(caller, method, place, body_of(method, path, state))
        return self.invoke(FUNCTIONS[method, path], caller, method, path, state, query)

    def invoke(
        self, group: str, caller: str, method: str, path: str, state: str, query: str = ""
    ) -> Answer:
        """Send it to the function of a group, as an authorizer lets it through."""
        key = self.keys.secrets[caller]
        identity = None if key is None else self.keys.registry.identify(key)
        body = body_of(method, path, state)
        event = http_event(method, self.place(path, state), identity, body, rawQueryString=query)
        event = with_headers(event, x__request__id=REQUEST_ID)
        reply = handle(lambda: self._function(group), event, None)
        return Answer(reply["statusCode"], reply["headers"], reply.get("body", ""))

    def function_of(self, method: str, path: str) -> Flask:
        """The application of the function that serves a route."""
        return self._function(FUNCTIONS[method, path])

    def post(self, caller: str, path: str, body: Any, **headers: str) -> Any:
        """What the server makes or hands out for this body."""
        answer = self._serve(caller, "POST", path, json.dumps(body), **headers)
        assert answer.status in (200, 201), answer.text
        return answer.json

    def _serve(
        self, caller: str, method: str, place: str, body: str | None, **headers: str
    ) -> Answer:
        key = self.keys.secrets[caller]
        headers |= {"X-Request-Id": REQUEST_ID} | ({} if key is None else {"X-API-Key": key})
        media_type = None if body is None else "application/json"
        reply = self._client.open(
            place, method=method, headers=headers, data=body, content_type=media_type
        )
        return Answer(reply.status_code, dict(reply.headers), reply.get_data(as_text=True))

    def place(self, path: str, state: str) -> str:
        """The path with the id of the job in that state."""
        return path.replace("{id}", str(self.ids.get(state)))

    def _open_function(self, group: str) -> Flask:
        return create_app(self.queue, identify_by_authorizer, routes_of(group))

    def _jobs(self) -> set[Job]:
        return {*self.store.list(Filter(), 200, None).jobs}


class Stage:
    """Hands out one prepared world to test after test, and a new one once it was changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.keys = Keys(folder / "keys.json")
        self._clock = FakeClock()
        self._ids = {"malformed": 0, "absent": 999_999}
        self._made = 0
        self._world: World | None = World(folder / "0.db", self.keys, self._clock, self._ids)
        self._prepare(self._world)
        # Copies of the closed file are cheaper than jobs that are led through their lives again.
        self.close()

    def enter(self) -> World:
        if self._world is None:
            self._made += 1
            path = self._folder / f"{self._made}.db"
            shutil.copy(self._folder / "0.db", path)
            self._world = World(path, self.keys, self._clock, self._ids)
        return self._world

    def leave(self) -> None:
        if self._world is not None and self._world.changed():
            self.close()

    def close(self) -> None:
        if self._world is not None:
            self._world.store.close()
            self._world = None

    def _prepare(self, world: World) -> None:
        for state, holder, lease in [
            ("completed", "workA", 300),
            ("failed", "workA", 300),
            ("running", "workA", 300),
            ("asked", "workA", 300),
            ("held", "admin", 300),
            ("overdue", "workA", _EXPIRY_SECONDS),
            ("lapsed", "workA", 1),
            ("redriven", "workA", 1),
        ]:
            self._enqueue(world, state, max_retries=0 if state == "redriven" else 3)
            world.post(holder, "/jobs/claim", {"lease_seconds": lease})
        self._clock.advance(1)
        world.queue.leases.recover(2)
        self._clock.advance(_EXPIRY_SECONDS - 1)
        self._enqueue(world, "delayed", delay_seconds=3600)
        self._enqueue(world, "cancelled")
        for caller, verb, state in [
            ("workA", "complete", "completed"),
            ("workA", "fail", "failed"),
            ("prodA", "cancel", "asked"),
            ("prodA", "cancel", "cancelled"),
            ("admin", "redrive", "redriven"),
        ]:
            world.ask("server", caller, "POST", f"/jobs/{{id}}/{verb}", state)
        self._ids |= {
            name: world.post(caller, "/jobs", body)["id"]
            for name, caller, body in [
                ("pending", "prodA", BODIES["POST /jobs"]["known"]),
                ("blog-pdf", "prodB", {"type": "pdf"}),
                ("root-sync", "admin", {"type": "sync", "priority": "critical"}),
            ]
        }

    def _enqueue(self, world: World, state: str, **fields: Any) -> None:
        payload = {"note": "secret-payload"}
        body = {"type": "email", "payload": payload, "idempotency_key": f"secret-key-{state}"}
        self._ids[state] = world.post("prodA", "/jobs", body | fields)["id"]
