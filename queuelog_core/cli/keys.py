"""`queuelog keys`: make, list, revoke and rotate API keys."""

import json
from typing import Any

import click

from queuelog_core.cli.screen import print_table
from queuelog_core.cli.shared import (
    Duration,
    confirm,
    home_of,
    json_option,
    one_line_errors,
    somebody_is_there,
)
from queuelog_core.clock import SystemClock, format_instant
from queuelog_core.config import load_config
from queuelog_core.identity import NAME, KeyRecord, Role
from queuelog_core.job import PRIORITIES
from queuelog_core.key_registry import KeyRegistry, open_registry

_registry_option = click.option(
    "--registry",
    "place",
    metavar="PLACE",
    help="file:PATH or secretsmanager:NAME; QUEUELOG_KEYS if not given.",
)


@click.group()
def keys() -> None:
    """Make, list, revoke and rotate API keys."""


def _registry(place: str | None) -> KeyRegistry:
    place = place or load_config().keys
    home_of(place)
    return open_registry(place, SystemClock())


@keys.command()
@click.argument("name")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--priority-max", type=click.Choice(list(PRIORITIES)), help="Highest priority.")
@click.option("--types", help="Comma-separated job types; all of them if not given.")
@click.option(
    "--expires",
    type=Duration(36_500),
    metavar="90d",
    help="Lifetime in s, m, h or d; for ever if not given.",
)
@_registry_option
@json_option("Print {id, name, role, key}.")
def create(
    name: str,
    role: str,
    priority_max: str | None,
    types: str | None,
    expires: int | None,
    place: str | None,
    as_json: bool,
) -> None:
    """Make a key for NAME and print it, this once.

    \b
    Example:
      queuelog keys create shop --role producer --priority-max high
    """
    cap = priority_max or ("critical" if role == Role.ADMIN else "medium")
    with one_line_errors():
        registry = _registry(place)
        record, key = registry.create(
            name,
            Role(role),
            priority_max=PRIORITIES[cap],
            types=None if types is None else _names(types),
            expires_at=None if expires is None else SystemClock()() + expires * 1000,
        )
        _print_key(record, key, as_json)
        _warn_when_nearly_full(registry)


@keys.command("list")
@_registry_option
@json_option()
def list_keys(place: str | None, as_json: bool) -> None:
    """List keys, without their secrets.

    \b
    Example:
      queuelog keys list
    """
    with one_line_errors():
        shown = [_shown(record) for record in _registry(place).records()]
        if not as_json:
            return print_table(shown)
        for document in shown:
            click.echo(json.dumps(document))


@keys.command()
@click.argument("key_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_registry_option
@json_option("Print {id, name, role, revoked_at}.")
def revoke(key_id: str, yes: bool, place: str | None, as_json: bool) -> None:
    """End the key with this ID for good; servers notice within a second, deployments in
    two minutes.

    It asks only where somebody can answer: a script that ends a stolen key must not stop.

    \b
    Example:
      queuelog keys revoke key_0123456789ab --yes
    """
    with one_line_errors():
        registry = _registry(place)
        confirm(f"End {key_id} for good?", yes=yes or not somebody_is_there())
        record = registry.revoke(key_id)
        if as_json:
            shown = _shown(record)
            names = ("id", "name", "role", "revoked_at")
            click.echo(json.dumps({name: shown[name] for name in names}))
        else:
            click.echo(f"revoked {record.id} of {record.name}", err=True)


@keys.command()
@click.argument("name")
@_registry_option
@json_option("Print {id, name, role, key}.")
def rotate(name: str, place: str | None, as_json: bool) -> None:
    """Make a second key for NAME with the same powers; revoke the old one when it is unused.

    \b
    Example:
      queuelog keys rotate shop
    """
    with one_line_errors():
        registry = _registry(place)
        record, key = registry.rotate(name)
        _print_key(record, key, as_json)
        _warn_when_nearly_full(registry)


def _print_key(record: KeyRecord, key: str, as_json: bool) -> None:
    shown = {"id": record.id, "name": record.name, "role": record.role.value, "key": key}
    click.echo(json.dumps(shown) if as_json else key)
    if not as_json:
        click.echo(f"{record.id} of {record.name}; it is not shown again", err=True)


def _warn_when_nearly_full(registry: KeyRegistry) -> None:
    if registry.is_nearly_full():
        click.echo("warning: there is room for few further keys in this registry", err=True)


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
