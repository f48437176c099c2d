"""`queuelog keys`: make, list, revoke and rotate API keys."""

import json
from typing import Any

import click

from queuelog_core.cli.shared import home_of, one_line_errors, seconds_in, table
from queuelog_core.clock import SystemClock, format_instant
from queuelog_core.config import load_config
from queuelog_core.identity import NAME, KeyRecord, Role
from queuelog_core.job import PRIORITIES
from queuelog_core.key_registry import FileRegistry, open_registry

_LIFETIME_SECONDS_MAX = 36_500 * 86_400


@click.group()
def keys() -> None:
    """Make, list, revoke and rotate API keys."""


def _registry() -> FileRegistry:
    config = load_config()
    home_of(config.keys)
    return open_registry(config.keys, SystemClock())


@keys.command()
@click.argument("name")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--priority-max", type=click.Choice(list(PRIORITIES)), help="Highest priority.")
@click.option("--types", help="Comma-separated job types; all of them if not given.")
@click.option("--expires", metavar="90d", help="Lifetime in s, m, h or d; for ever if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print {id, name, role, key}.")
def create(
    name: str,
    role: str,
    priority_max: str | None,
    types: str | None,
    expires: str | None,
    as_json: bool,
) -> None:
    """Make a key for NAME and print it, this once.

    \b
    Example:
      queuelog keys create shop --role producer --priority-max high
    """
    cap = priority_max or ("critical" if role == Role.ADMIN else "medium")
    lifetime = None if expires is None else _seconds(expires)
    with one_line_errors():
        registry = _registry()
        record, key = registry.create(
            name,
            Role(role),
            priority_max=PRIORITIES[cap],
            types=None if types is None else _names(types),
            expires_at=None if lifetime is None else SystemClock()() + lifetime * 1000,
        )
        _print_key(record, key, as_json)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def list_keys(as_json: bool) -> None:
    """List keys, without their secrets."""
    with one_line_errors():
        shown = [_shown(record) for record in _registry().records()]
        lines = map(json.dumps, shown) if as_json else table(shown)
        for line in lines:
            click.echo(line)


@keys.command()
@click.argument("key_id", metavar="ID")
def revoke(key_id: str) -> None:
    """End the key with this ID; servers notice within a second."""
    with one_line_errors():
        record = _registry().revoke(key_id)
        click.echo(f"revoked {record.id} of {record.name}", err=True)


@keys.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print {id, name, role, key}.")
def rotate(name: str, as_json: bool) -> None:
    """Make a second key for NAME with the same powers; revoke the old one when it is unused."""
    with one_line_errors():
        record, key = _registry().rotate(name)
        _print_key(record, key, as_json)


def _print_key(record: KeyRecord, key: str, as_json: bool) -> None:
    shown = {"id": record.id, "name": record.name, "role": record.role.value, "key": key}
    click.echo(json.dumps(shown) if as_json else key)
    if not as_json:
        click.echo(f"{record.id} of {record.name}; it is not shown again", err=True)


def _shown(record: KeyRecord) -> dict[str, Any]:
    document = record.to_json()
    del document["digest"]
    for name in ("created_at", "expires_at", "revoked_at"):
        document[name] = None if document[name] is None else format_instant(document[name])
    return document


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(","))
    if not all(NAME.fullmatch(name) for name in names):
        raise click.BadParameter("looks like email,pdf", param_hint="--types")
    return names


def _seconds(text: str) -> int:
    seconds = seconds_in(text)
    if seconds is None:
        raise click.BadParameter("looks like 90d, 12h or 30m", param_hint="--expires")
    if seconds > _LIFETIME_SECONDS_MAX:
        raise click.BadParameter("is at most 36500d", param_hint="--expires")
    return seconds
