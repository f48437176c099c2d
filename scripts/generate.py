"""Writes what is generated: openapi.json and infra/http.yml from the routes, docs/cli.md."""

import json
from pathlib import Path

from queuelog_core.http.openapi import openapi_document
from queuelog_core.http.routes import GROUPS, routes_of
from scripts.cli_page import cli_page

ROOT = Path(__file__).parent.parent


def openapi_text() -> str:
    return json.dumps(openapi_document(), ensure_ascii=False, indent=2) + "\n"


def http_yml_text() -> str:
    """The functions of serverless.yml: one per group, its routes in the order of the table."""
    lines = ["# Generated from queuelog_core/http/routes.py by `make generate`; do not edit."]
    for group in GROUPS:
        lines += [f"{group}:", f"  handler: functions/{group}.handler", "  events:"]
        for route in routes_of(group):
            lines += [
                "    - httpApi:",
                f"        method: {route.method}",
                f"        path: {route.path}",
            ]
            if route.authorizer is not None:
                lines += ["        authorizer:", f"          name: {route.authorizer}"]
    return "\n".join(lines) + "\n"


def generated() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    return {
        ROOT / "openapi.json": openapi_text(),
        ROOT / "infra" / "http.yml": http_yml_text(),
        ROOT / "docs" / "cli.md": cli_page(),
    }


def main() -> None:
    for path, text in generated().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
