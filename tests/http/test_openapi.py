"""The OpenAPI document: valid, fresh, and saying what the application does."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from openapi_spec_validator import OpenAPIV31SpecValidator

from queuelog_core.http.app import create_app
from queuelog_core.http.openapi import openapi_document
from queuelog_core.http.routes import GROUPS, ROUTES, routes_of
from tests.support.http import ROOT, Api, identify, json_of

DOCUMENT: Any = openapi_document()
GENERATED: dict[Path, str] = runpy.run_path(str(ROOT / "scripts" / "generate.py"))["generated"]()
HTTP_YML = ROOT / "infra" / "http.yml"
ROLES_YML = ROOT / "infra" / "roles.yml"
BY_NAME = {route.name: route for route in ROUTES}
PATHS = [(route.method, route.path) for route in ROUTES]


def rules_of(app: Flask) -> list[tuple[str, str]]:
    return [
        (method, re.sub(r"<job_id:job_id>", "{id}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD"}
    ]


def routes_in(text: str) -> list[tuple[str, str]]:
    """Method and path of every event in infra/http.yml."""
    return re.findall(r"method: (\S+)\n +path: (\S+)\n", text)


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_generated_files_are_fresh(path: Path) -> None:
    """If not: make generate."""
    assert path.read_text("utf-8") == GENERATED[path]


def test_every_generated_file_is_compared() -> None:
    assert set(GENERATED) == {
        ROOT / "openapi.json",
        HTTP_YML,
        ROLES_YML,
        ROOT / "docs" / "cli.md",
    }


def test_the_served_document_is_the_generated_one(api: Api) -> None:
    reply = api.call("GET", "/openapi.json", None)

    assert reply.status_code == 200
    assert json_of(reply) == DOCUMENT


def test_the_table_names_each_route_once() -> None:
    assert len(set(PATHS)) == len(BY_NAME) == len(ROUTES)


def test_the_application_serves_what_the_table_names(api: Api) -> None:
    assert sorted(rules_of(api.client.application)) == sorted(PATHS)


def test_the_document_names_what_the_table_names() -> None:
    documented = [
        (method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item
    ]

    assert sorted(documented) == sorted(PATHS)


def test_the_gateway_routes_what_the_table_names() -> None:
    assert sorted(routes_in(HTTP_YML.read_text("utf-8"))) == sorted(PATHS)


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_is_a_function_that_serves_its_routes(api: Api, group: str) -> None:
    text = HTTP_YML.read_text("utf-8")
    section = re.search(rf"^{group}:\n((?: .*\n)+)", text, re.MULTILINE)
    app = create_app(api.queue, identify, routes_of(group))

    assert section is not None
    assert f"handler: functions/{group}.handler" in section.group(1)
    assert sorted(routes_in(section.group(1))) == sorted(rules_of(app))


def test_the_gateway_guards_every_route_that_needs_a_key() -> None:
    events = HTTP_YML.read_text("utf-8").split("    - httpApi:\n")[1:]
    guarded = {
        routes_in(event)[0]: re.search(r"authorizer:\n +name: (\w+)", event) for event in events
    }

    named = {route: match and match.group(1) for route, match in guarded.items()}
    assert named == {(route.method, route.path): route.authorizer for route in ROUTES}


@pytest.mark.parametrize(
    "paths",
    [
        [path for _, path in PATHS],
        list(DOCUMENT["paths"]),
        [path for _, path in routes_in(GENERATED[HTTP_YML])],
    ],
    ids=["table", "document", "gateway"],
)
def test_no_literal_path_stands_behind_a_parameter_that_would_swallow_it(paths: list[str]) -> None:
    """Routers that take the first match would never reach it."""
    swallowed = [
        (earlier, later)
        for place, later in enumerate(paths)
        for earlier in paths[:place]
        if "{" in earlier
        and earlier != later
        and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", earlier), later)
    ]

    assert swallowed == []
