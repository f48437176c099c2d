"""One DynamoDB table: what the store asks of it, and nothing of how a request is spelled beyond."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from queuelog_core.errors import StoreBusy
from queuelog_core.stores.dynamodb_client import Client, Item, Refused, Value, decode, encode

Key = tuple[str, str]
"""Partition and sort key."""

FIRST, LAST = " ", "~"
"""Below and above every sort key."""
_READ_MAX, _DELETED_MAX = 100, 25
_AGAIN_MAX = 6
_PAUSE_SECONDS = 0.05


class Index(NamedTuple):
    """Where a query looks: its name (None: the table itself), partition and sort attribute."""

    name: str | None
    partition: str
    sort: str


ITEMS = Index(None, "pk", "sk")
WORK = Index("work", "qp", "qs")
LIST = Index("list", "lp", "ls")


class Found(NamedTuple):
    """Items of a query in order; `rest` is where it goes on."""

    items: Sequence[Item]
    rest: Any


class Table:
    """Calls of one table. All raise StoreBusy when throttled and StoreUnavailable when the table
    cannot be had or the outcome is unknown."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client

    def get(self, key: Key) -> Item | None:
        """The item as it is now."""
        found = self._call("get_item", Key=_key(key), ConsistentRead=True)
        return decode(found["Item"]) if "Item" in found else None

    def get_many(self, keys: Sequence[Key], *, fresh: bool = True) -> dict[Key, Item]:
        """Those of these items that exist; unless `fresh`, as they were a moment ago."""
        found: dict[Key, Item] = {}

        def read(left: Any) -> Any:
            request = {self.name: {"Keys": left, "ConsistentRead": fresh}}
            got = self._client.call("batch_get_item", RequestItems=request)
            for item in map(decode, got["Responses"][self.name]):
                found[str(item["pk"]), str(item["sk"])] = item
            return got.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys")

        for start in range(0, len(keys), _READ_MAX):
            _in_rounds([_key(key) for key in keys[start : start + _READ_MAX]], read)
        return found

    def query(
        self,
        index: Index,
        partition: str,
        low: str = FIRST,
        high: str = LAST,
        *,
        most: int = 1000,
        forward: bool = True,
        rest: Any = None,
    ) -> Found:
        """Items from `low` to `high`, `most` looked at; those of the table as they are now."""
        if low > high:
            return Found([], None)
        found = self._query(index, partition, low, high, most, rest, ScanIndexForward=forward)
        return Found([decode(item) for item in found["Items"]], found.get("LastEvaluatedKey"))

    def count(self, index: Index, partition: str, low: str, high: str, most: int) -> int:
        """How many items there are from `low` to `high`; stops at `most`."""
        counted, rest = 0, None
        while counted < most and low <= high:
            found = self._query(index, partition, low, high, most - counted, rest, Select="COUNT")
            counted += found["Count"]
            rest = found.get("LastEvaluatedKey")
            if rest is None:
                break
        return counted

    def put(self, item: Item) -> None:
        """Store an item, whatever is there."""
        self._call("put_item", Item=encode(item))

    def put_new(self, item: Item) -> Item | None:
        """Store an item unless its key is taken; else what is there."""
        key = str(item["pk"]), str(item["sk"])
        for _ in range(_AGAIN_MAX):
            try:
                self._write(
                    "put_item", Item=encode(item), ConditionExpression="attribute_not_exists(pk)"
                )
            except Refused as refused:
                there = refused.item or self.get(key)
                if there is not None:
                    return there
                continue
            return None
        raise StoreBusy(f"{key[0]} comes and goes")

    def update(
        self, key: Key, changes: Mapping[str, Value | None], seen: Mapping[str, Value]
    ) -> None:
        """Set attributes, or remove those that are None, if others are as `seen`. Raises
        Refused."""
        names = {f"#{name}": name for name in {*changes, *seen}}
        put = [name for name, value in changes.items() if value is not None]
        gone = [name for name, value in changes.items() if value is None]
        values = {f":{name}": changes[name] for name in put}
        values |= {f":seen_{name}": value for name, value in seen.items()}
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in put)
        if gone:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in gone)
        self._write(
            "update_item",
            Key=_key(key),
            UpdateExpression=expression,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=encode(values),
            ConditionExpression=_all_as(seen),
        )

    def add(self, key: Key, numbers: Mapping[str, int | frozenset[str]]) -> None:
        """Add to numbers and to sets of an item, made if need be."""
        self._call(
            "update_item",
            Key=_key(key),
            UpdateExpression="ADD " + ", ".join(f"#{name} :{name}" for name in numbers),
            ExpressionAttributeNames={f"#{name}": name for name in numbers},
            ExpressionAttributeValues=encode({f":{n}": value for n, value in numbers.items()}),
        )

    def raise_to(self, key: Key, name: str, number: int) -> None:
        """Set a number of an item unless it is as high already."""
        try:
            self._write(
                "update_item",
                Key=_key(key),
                UpdateExpression=f"SET #{name} = :{name}",
                ExpressionAttributeNames={f"#{name}": name},
                ExpressionAttributeValues=encode({f":{name}": number}),
                ConditionExpression=f"attribute_not_exists(#{name}) OR #{name} < :{name}",
            )
        except Refused:
            return

    def delete(self, key: Key, seen: Mapping[str, Value]) -> None:
        """Delete an item that is as `seen`. Raises Refused."""
        self._write(
            "delete_item",
            Key=_key(key),
            ConditionExpression=_all_as(seen),
            ExpressionAttributeNames={f"#{name}": name for name in seen},
            ExpressionAttributeValues=encode({f":seen_{n}": value for n, value in seen.items()}),
        )

    def delete_many(self, keys: Sequence[Key]) -> None:
        """Delete items, whatever they hold."""

        def delete(left: Any) -> Any:
            done = self._client.call("batch_write_item", RequestItems={self.name: left})
            return done.get("UnprocessedItems", {}).get(self.name)

        for start in range(0, len(keys), _DELETED_MAX):
            some = keys[start : start + _DELETED_MAX]
            _in_rounds([{"DeleteRequest": {"Key": _key(key)}} for key in some], delete)

    def close(self) -> None:
        """Give the connections back; the next call makes new ones."""
        self._client.close()

    def _query(
        self,
        index: Index,
        partition: str,
        low: str,
        high: str,
        most: int,
        rest: Any,
        **options: Any,
    ) -> Any:
        place = {"ConsistentRead": True} if index.name is None else {"IndexName": index.name}
        if rest is not None:
            options["ExclusiveStartKey"] = rest
        between = f"{index.partition} = :p AND {index.sort} BETWEEN :low AND :high"
        return self._call(
            "query",
            KeyConditionExpression=between,
            ExpressionAttributeValues=encode({":p": partition, ":low": low, ":high": high}),
            Limit=most,
            **place,
            **options,
        )

    def _write(self, name: str, **request: Any) -> Any:
        return self._call(name, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request)

    def _call(self, name: str, **request: Any) -> Any:
        return self._client.call(name, TableName=self.name, **request)


def _in_rounds(left: Any, send: Callable[[Any], Any]) -> None:
    """Send what is left over until nothing is, with pauses that grow. Raises StoreBusy."""
    for number in range(_AGAIN_MAX):
        if number:
            time.sleep(random.uniform(0, _PAUSE_SECONDS * 2**number))
        left = send(left)
        if not left:
            return
    raise StoreBusy("DynamoDB leaves requests of a batch undone")


def _all_as(seen: Mapping[str, Value]) -> str:
    return " AND ".join(f"#{name} = :seen_{name}" for name in seen)


def _key(key: Key) -> Any:
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}
