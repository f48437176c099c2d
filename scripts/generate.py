"""Writes what is generated: openapi.json, infra/http.yml and infra/roles.yml from the route table,
docs/cli.md from the command."""

import json
from pathlib import Path

from queuelog_core.http.openapi import openapi_document
from scripts.cli_page import cli_page
from scripts.infra_files import http_yml_text, roles_yml_text

ROOT = Path(__file__).parent.parent


def openapi_text() -> str:
    return json.dumps(openapi_document(), ensure_ascii=False, indent=2) + "\n"


def generated() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    return {
        ROOT / "openapi.json": openapi_text(),
        ROOT / "infra" / "http.yml": http_yml_text(),
        ROOT / "docs" / "cli.md": cli_page(),
        ROOT / "infra" / "roles.yml": roles_yml_text(),
    }


def main() -> None:
    for path, text in generated().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
