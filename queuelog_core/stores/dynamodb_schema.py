"""The table itself, for tests and for a queue at home; in AWS a template makes it."""

from typing import Any

from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.stores.dynamodb_client import Client
from queuelog_core.stores.dynamodb_items import EXPIRES
from queuelog_core.stores.dynamodb_table import ITEMS, LIST, WORK, Index

PROJECTED = {"work": ("st", "v", "ec"), "list": ("ty", "pd")}
"""What an index holds beside the keys: what lists and claims need in order to read no more."""
_WAIT = {"Delay": 0.2, "MaxAttempts": 300}


def create_table(client: Client, name: str) -> bool:
    """Make the table with its indexes unless it is there, and wait until it can be used; whether it
    was made. Raises ConfigError for a table that is another's, StoreUnavailable."""
    try:
        client.call("create_table", TableName=name, **_table())
    except StoreUnavailable as error:
        if "ResourceInUseException" not in error.reason:
            raise
        _wait(client, name)
        _refuse_anothers(client, name)
        return False
    _wait(client, name)
    expiry = {"Enabled": True, "AttributeName": EXPIRES}
    try:
        client.call("update_time_to_live", TableName=name, TimeToLiveSpecification=expiry)
    except StoreUnavailable as error:
        # dynalite deletes nothing by itself, and needs not: reads pass over what has expired.
        if "UnknownOperationException" not in error.reason:
            raise
    return True


def _wait(client: Client, name: str) -> None:
    client.open().get_waiter("table_exists").wait(TableName=name, WaiterConfig=_WAIT)


def _refuse_anothers(client: Client, name: str) -> None:
    found = client.call("describe_table", TableName=name)["Table"]
    there: dict[str | None, Any] = {None: found["KeySchema"]}
    there |= {one["IndexName"]: one["KeySchema"] for one in found.get("GlobalSecondaryIndexes", [])}
    for index in (ITEMS, WORK, LIST):
        if there.get(index.name) != _keys(index):
            raise ConfigError(f"the table {name} is another's: its keys or indexes are not ours")


def _table() -> dict[str, Any]:
    attributes = sorted({name for one in (ITEMS, WORK, LIST) for name in one[1:]})
    return {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "S"} for attribute in attributes
        ],
        "KeySchema": _keys(ITEMS),
        "GlobalSecondaryIndexes": [_index(WORK), _index(LIST)],
    }


def _keys(index: Index) -> Any:
    return [
        {"AttributeName": index.partition, "KeyType": "HASH"},
        {"AttributeName": index.sort, "KeyType": "RANGE"},
    ]


def _index(index: Index) -> Any:
    assert index.name is not None
    return {
        "IndexName": index.name,
        "KeySchema": _keys(index),
        "Projection": {
            "ProjectionType": "INCLUDE",
            "NonKeyAttributes": list(PROJECTED[index.name]),
        },
    }
