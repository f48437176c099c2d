"""The OpenAPI 3.1 document, made from the route table and the rules that parse the requests."""

import functools
from typing import Any

from queuelog_core import __version__
from queuelog_core.http.openapi_examples import EXAMPLES
from queuelog_core.http.openapi_notes import NOTES
from queuelog_core.http.openapi_parts import HEADERS, PARAMETERS, PROBLEMS, REPLIES
from queuelog_core.http.openapi_schemas import SCHEMAS
from queuelog_core.http.routes import ROUTES, Route
from queuelog_core.http.schema import fields_of, object_schema


@functools.cache
def openapi_document() -> dict[str, Any]:
    """The whole document. The same routes give the same text, so a test can compare it."""
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "queuelog",
            "version": __version__,
            "description": NOTES["all"],
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
            "schemas": SCHEMAS,
            "responses": {f"Problem{status}": _problem(status) for status in PROBLEMS},
            "headers": HEADERS,
        },
    }


def problem_statuses(route: Route) -> list[int]:
    """Every status of refusal that a route can answer, by what it takes and touches."""
    statuses = [500]
    if route.roles:
        statuses += [401, 403, 503]
    if route.body is not None:
        statuses += [400, 413, 415, 422]
    if route.query is not None:
        statuses += [422]
    if "{id}" in route.path:
        statuses += [404]
        # A verb on a job depends on the job's state.
        statuses += [409] if route.method == "POST" else []
    return sorted(statuses)


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.group],
        "summary": route.summary,
        "security": [{"key": []}] if route.roles else [],
        "responses": {
            **{str(status): _success(route, status) for status in route.replies},
            **{str(status): _problem_reference(status) for status in problem_statuses(route)},
        },
    }
    if route.name == "health":
        operation["responses"]["503"] = _success(route, 503)
    operation["description"] = NOTES.get(route.name, "")
    if route.roles:
        names = ", ".join(sorted(role.value for role in route.roles))
        operation["description"] = f"Roles: {names}. {NOTES.get(route.name, '')}".strip()
    parameters = [*PARAMETERS["all"], *_path(route), *_query(route)]
    operation["parameters"] = parameters + PARAMETERS.get(route.name, [])
    if route.body is not None:
        operation["requestBody"] = _request_body(route)
    return operation


def _path(route: Route) -> list[dict[str, Any]]:
    if "{id}" not in route.path:
        return []
    schema = {"$ref": "#/components/schemas/JobId"}
    return [{"name": "id", "in": "path", "required": True, "schema": schema, "example": 42}]


def _query(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    return [
        {"name": field.name, "in": "query", "required": False, "schema": field.schema()}
        for field in fields_of(route.query)
    ]


def _request_body(route: Route) -> dict[str, Any]:
    assert route.body is not None
    schema = object_schema(route.body)
    content = {"schema": schema, "examples": EXAMPLES[route.name]}
    return {"required": "required" in schema, "content": {"application/json": content}}


def _success(route: Route, status: int) -> dict[str, Any]:
    description, schema, example, names = REPLIES[route.name][status]
    reply: dict[str, Any] = {"description": description, "headers": _headers(names)}
    if schema is not None:
        references = [{"$ref": f"#/components/schemas/{name}"} for name in schema.split(" or ")]
        body = references[0] if len(references) == 1 else {"oneOf": references}
        reply["content"] = {"application/json": {"schema": body, "example": example}}
    return reply


def _problem_reference(status: int) -> dict[str, Any]:
    return {"$ref": f"#/components/responses/Problem{status}"}


def _problem(status: int) -> dict[str, Any]:
    description, codes = PROBLEMS[status]
    example = {
        "type": f"urn:queuelog:problem:{codes[0]}",
        "title": description,
        "status": status,
        "detail": "What was wrong with this request.",
        "code": codes[0],
        "request_id": "0f9d3c1b2a4e5f60",
        "errors": [],
    }
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {
        "description": f"{description}. Codes: {', '.join(codes)}.",
        "headers": _headers(["Retry-After"] if status == 503 else []),
        "content": {"application/problem+json": content},
    }


def _headers(names: list[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ["X-Request-Id", *names]}
