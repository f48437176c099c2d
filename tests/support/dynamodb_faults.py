"""A client of DynamoDB on a bad day: answers get lost, indexes lag, calls are throttled.

Every fault can be put at one call, counted from the first, or come at random.
"""

import copy
import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from tests.support.dynamodb import READS, WRITES, Kept

CALLS = READS | WRITES
Fault = Callable[[str, Callable[[], Any]], Any]
"""Answers a call in the place of the engine: its name, and what would make it."""


def throttled(name: str, _: Callable[[], Any]) -> Any:
    """DynamoDB refuses; nothing was done."""
    told = {"Code": "ProvisionedThroughputExceededException", "Message": "slow down"}
    raise ClientError({"Error": told}, name)


def lost(name: str, call: Callable[[], Any]) -> Any:
    """The work is done and nobody hears of it, however often boto3 asks."""
    call()
    raise ReadTimeoutError(endpoint_url=f"dynamodb/{name}")


def sent_twice(name: str, call: Callable[[], Any]) -> Any:
    """The answer is lost, and boto3 sends the same request again (B59)."""
    call()
    try:
        return call()
    except ClientError as error:
        error.response.setdefault("ResponseMetadata", {})["RetryAttempts"] = 1
        raise


class Faulty(Kept):
    """Counts the calls of the store, and lets a fault answer one of them, or some at random."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.calls: list[str] = []
        self._lock = threading.Lock()
        self._choose: Callable[[int, str], Fault | None] = lambda _, __: None

    def heal(self) -> None:
        """No faults from now on; counting begins anew."""
        self.calls = []
        self._choose = lambda _, __: None

    def fail_at(self, number: int, fault: Fault) -> None:
        """Let a fault answer the call with this number, from 0 on."""
        self.heal()
        self._choose = lambda count, _: fault if count == number else None

    def fail_first(self, name: str, fault: Fault) -> None:
        """Let a fault answer the first call of this name."""
        self.heal()
        self._choose = lambda _, called: (
            fault if called == name and name not in self.calls else None
        )

    def fail_sometimes(self, faults: Mapping[Fault, float], source: random.Random) -> None:
        """Let each of these faults answer such a part of all calls."""
        self.heal()

        def choose(_: int, __: str) -> Fault | None:
            drawn = source.random()
            for fault, part in faults.items():
                drawn -= part
                if drawn < 0:
                    return fault
            return None

        self._choose = choose

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in CALLS:
            return method

        def call(**request: Any) -> Any:
            with self._lock:
                fault = self._choose(len(self.calls), name)
                self.calls.append(name)
            if fault is None:
                return method(**request)
            return fault(name, lambda: method(**copy.deepcopy(request)))

        return call


class Met(Kept):
    """One on whose way others do something, once, right before a call of this name."""

    def __init__(self, client: Any, name: str, meanwhile: Callable[[], Any]) -> None:
        super().__init__(client)
        self._name = name
        self._left = [meanwhile]

    def __getattr__(self, name: str) -> Any:
        if name == self._name and self._left:
            self._left.pop()()
        return getattr(self._client, name)


class Lagging(Kept):
    """One whose indexes show what they showed some queries ago, as a lag allows."""

    def __init__(self, client: Any, source: random.Random, kept: int = 4) -> None:
        super().__init__(client)
        self._source = source
        self._kept = kept
        self._seen: dict[tuple[Any, ...], list[Any]] = {}

    def query(self, **request: Any) -> Any:
        """The answer, or for an index perhaps one of the last few to the same question."""
        fresh = self._client.query(**request)
        if "IndexName" not in request or "ExclusiveStartKey" in request:
            return fresh
        partition = request["ExpressionAttributeValues"][":p"]["S"]
        form = (request.get("Limit"), request.get("ScanIndexForward"), request.get("Select"))
        seen = self._seen.setdefault((request["IndexName"], partition, *form), [])
        seen.append(copy.deepcopy(fresh))
        del seen[: -self._kept]
        return copy.deepcopy(self._source.choice(seen))


def lose_text(client: Any, table: str, job_id: int, kind: str) -> None:
    """Delete the text that lies beside a job: P its payload, R its result."""
    found = client.query(
        TableName=table,
        KeyConditionExpression="pk = :p AND begins_with(sk, :s)",
        ExpressionAttributeValues={":p": {"S": f"J#{job_id}"}, ":s": {"S": f"{kind}#"}},
    )
    (item,) = found["Items"]
    client.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
