"""What a request holds: real values among the made-up ones, and requests nobody would draw."""

from collections.abc import MutableMapping, Sequence
from random import Random
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from schemathesis import Case, HookContext
from schemathesis.core import NOT_SET
from schemathesis.generation.meta import TestPhase

from queuelog_core.http.bodies import REQUEST_BYTES_MAX
from queuelog_core.http.openapi import openapi_document
from tests.fuzz.schema_callers import KEY, PEERS, chance
from tests.fuzz.schema_server import COMPLETED, FAILED, RUNNING, TYPES, Server

JSON = "application/json"
_REAL_SHARE = 0.5
_COMPONENTS = {"components": openapi_document()["components"]}
_BROKEN_BODIES = [(b"{", JSON), (b" " * (REQUEST_BYTES_MAX + 1), JSON), (b"{}", "text/plain")]
_DIRECTED: dict[str, list[tuple[str, Any, int]]] = {
    "POST /jobs": [
        ("shop", {"type": "email", "payload": {}, "idempotency_key": "email-key"}, RUNNING)
    ],
    "POST /jobs/batch": [
        ("shop", {"jobs": [{"type": "email"}, {"type": "email", "unknown": 1}, 7]}, RUNNING)
    ],
    "POST /jobs/claim": [("idler", {}, RUNNING), ("mailer", {}, RUNNING)],
    "POST /jobs/{id}/cancel": [("shop", {}, RUNNING), ("shop", {}, COMPLETED)],
    "POST /jobs/{id}/redrive": [("root", {}, FAILED), ("root", {}, COMPLETED)],
}


def mix_real_values(server: Server, case: Case) -> Case:
    """Put real values in the place of about half of those that the document allows there."""
    assert case.meta is not None
    random = chance(case, "values")
    definition = case.operation.definition.raw
    if case.meta.phase.name is TestPhase.STATEFUL:
        _start_with_a_job(server, case)
    else:
        places = {"path": case.path_parameters, "query": case.query, "header": case.headers}
        for parameter in definition["parameters"]:
            values = places[parameter["in"]]
            _mix(random, values, parameter["name"], parameter["schema"], server)
    if case.meta.generation.mode.is_positive and case.query.get("cursor") in server.cursors:
        # They belong to the list without a filter.
        for name in case.query.keys() - {"cursor", "limit"}:
            del case.query[name]
    if isinstance(case.body, dict):
        _mix_all(random, case.body, definition["requestBody"]["content"][JSON]["schema"], server)
    return case


def _start_with_a_job(server: Server, case: Case) -> None:
    """A story's next step is about the job of the one before; its first one makes an id up."""
    made_up = case.path_parameters.get("id")
    if made_up is not None and server.queue.store.get(made_up) is None:
        case.path_parameters["id"] = chance(case, "job").choice(server.own_ids)


def _mix_all(random: Random, values: Any, schema: Any, server: Server) -> None:
    """In an object, in the objects inside it and in those of its lists."""
    if isinstance(values, list):
        for item in values:
            _mix_all(random, item, schema.get("items", {}), server)
    elif isinstance(values, dict):
        for name, part in schema.get("properties", {}).items():
            _mix(random, values, name, part, server)
            _mix_all(random, values.get(name), part, server)


def _mix(random: Random, values: Any, name: str, schema: Any, server: Server) -> None:
    real_values: dict[str, Sequence[Any]] = {
        "id": server.ids,
        "attempt": [1],
        "cursor": server.cursors,
        "type": TYPES,
        "types": [[name] for name in TYPES],
        "producer_id": PEERS,
        "worker_id": ["mailer"],
        "error_code": ["boom"],
        "idempotency_key": server.idempotency_keys,
        "Idempotency-Key": server.idempotency_keys,
    }
    if name not in real_values or not isinstance(values, MutableMapping) or name not in values:
        return
    # What was made to be refused stays as it is, or nobody could tell that it has to be.
    if _fits(schema, values[name]) and random.random() < _REAL_SHARE:
        values[name] = random.choice(real_values[name])


def _fits(schema: Any, value: Any) -> bool:
    if "$ref" in schema and isinstance(value, str) and value.isdecimal():
        value = int(value)
    return bool(Draft202012Validator({**schema, **_COMPONENTS}).is_valid(value))


def add_directed(server: Server, context: HookContext, examples: list[Case]) -> None:
    """Requests that chance may miss: a refused key or body, a replay, a job's state, a bad item."""
    operation = context.operation
    assert operation is not None
    asked: list[tuple[str, Any, int, str]] = [
        (caller, NOT_SET, RUNNING, JSON) for caller in ("none", "junk")
    ]
    if operation.body:
        asked += [("root", body, RUNNING, media_type) for body, media_type in _BROKEN_BODIES]
    asked += [(*directed, JSON) for directed in _DIRECTED.get(operation.label, [])]
    for caller, body, place, media_type in asked:
        key = server.keys[caller]
        headers = {"Content-Type": media_type} | ({} if key is None else {KEY: key})
        case = operation.Case(
            path_parameters={"id": server.ids[place]} if "{id}" in operation.path else {},
            headers=headers,
            body=body,
            media_type=JSON,
        )
        # Or a success would count as one with a made-up key.
        case._has_explicit_auth = True
        examples.append(case)
