"""`dynamodb://table?region=…&endpoint=…&shards=…`: what it says, the store there, and its table."""

import logging
import re
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from queuelog_core.errors import ConfigError
from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client, connect

SHARDS_MAX = 256
PROBE_SECONDS = 1.0
VERSION = 1
"""Of the table's keys and indexes."""
_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}", re.ASCII)
_SHARDS = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_log = logging.getLogger(__name__)


class _Address(NamedTuple):
    table: str
    place: tuple[str | None, str | None]
    shards: int


def open_dynamodb(url: str, kept_days: int | None) -> DynamoDBStore:
    """Open the store at an address. The table is not looked at before the first call. Raises
    ConfigError."""
    table, place, shards = _read(url)
    client = Client(partial(connect, *place))
    probe = Client(partial(connect, *place, tries=1, seconds=PROBE_SECONDS))
    # Made now, so that a wrong address stops the start.
    client.open()
    _log.info("store-opened", extra={"fields": {"table": table, "shards": shards}})
    return DynamoDBStore(client, table, shards, probe=probe, kept_days=kept_days)


def make_table(url: str) -> tuple[int, int]:
    """Make the table of an address unless it is there: the versions before and after, 0 for one
    that was not there. Raises ConfigError and StoreUnavailable."""
    from queuelog_core.stores.dynamodb_schema import create_table

    table, place, _ = _read(url)
    client = Client(partial(connect, *place))
    try:
        return 0 if create_table(client, table) else VERSION, VERSION
    finally:
        client.close()


def _read(url: str) -> _Address:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _unlike_an_address() from None
    options = parse_qs(parts.query, keep_blank_values=True)
    region, endpoint, shards = (
        options.pop(name, [default])[-1]
        for name, default in (("region", ""), ("endpoint", ""), ("shards", "1"))
    )
    if options or parts.path or not _TABLE.fullmatch(parts.netloc):
        raise _unlike_an_address()
    if not _SHARDS.fullmatch(shards) or int(shards) > SHARDS_MAX:
        raise ConfigError(f"shards= is a whole number from 1 to {SHARDS_MAX}")
    return _Address(parts.netloc, (region or None, endpoint or None), int(shards))


def _unlike_an_address() -> ConfigError:
    return ConfigError(
        "QUEUELOG_STORE looks like dynamodb://table?region=eu-west-1, with endpoint= and "
        "shards= if need be"
    )
