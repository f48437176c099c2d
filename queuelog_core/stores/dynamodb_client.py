"""The DynamoDB client: boto3 set up on purpose, its errors in our words, plain values for its own.

A conditional write whose answer was lost is sent again by boto3 and then refused by its own first
try. `Refused` carries what is there, so that whoever wrote recognises its own write by a nonce.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from queuelog_core.errors import ConfigError, StoreBusy, StoreUnavailable

Value = str | int | bytes | frozenset[str]
Item = Mapping[str, Value]

THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
    }
)
CONNECTIONS = 16
_abandoned: list[object] = []


class Refused(Exception):
    """A condition did not hold. `item`: what is there, if that is known; `repeated`: boto3 had sent
    the request before, so the refusal may be of its own doing."""

    def __init__(self, item: Item | None, repeated: bool) -> None:
        super().__init__("the condition does not hold")
        self.item = item
        self.repeated = repeated


class Client:
    """Calls by the names of boto3, on a connection made at first use. They raise Refused, StoreBusy
    when throttled, and StoreUnavailable when the outcome is unknown."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._connected: Any = None

    def open(self) -> Any:
        """The client of boto3. Raises what connecting raises."""
        with self._lock:
            if self._connected is None:
                self._connected = self._connect()
            return self._connected

    def call(self, name: str, **request: Any) -> Any:
        """What boto3 answers."""
        client = self.open()
        try:
            return getattr(client, name)(**request)
        except ClientError as error:
            raise _translate(error) from error
        except BotoCoreError as error:
            raise StoreUnavailable(f"DynamoDB: {' '.join(str(error).split())}") from error

    def abandon(self) -> None:
        """Forget the connection without a word to the other side, after a fork: it is the
        parent's."""
        self._lock = threading.Lock()
        _abandoned.append(self._connected)
        self._connected = None

    def close(self) -> None:
        """Give the connections back; the next call makes new ones."""
        with self._lock:
            client, self._connected = self._connected, None
        if client is not None:
            client.close()


def connect(
    region: str | None, endpoint: str | None, *, tries: int = 4, seconds: float = 3.0
) -> Any:
    """A client of boto3. Raises ConfigError without a region."""
    import boto3
    from botocore.config import Config

    # A gateway waits 30 s for an answer; boto3's own minute for a read would outlast it.
    patience = Config(
        connect_timeout=1,
        read_timeout=seconds,
        retries={"mode": "standard", "total_max_attempts": tries},
        max_pool_connections=CONNECTIONS,
        # The requests are made here alone, and checking each costs as much as sending it.
        parameter_validation=False,
    )
    try:
        return boto3.client("dynamodb", region_name=region, endpoint_url=endpoint, config=patience)
    except NoRegionError:
        raise ConfigError("say which region: dynamodb://table?region=eu-west-1") from None
    except ValueError as error:
        raise ConfigError(f"the endpoint of the table cannot be used: {error}") from None


def _translate(error: ClientError) -> Exception:
    code = error.response["Error"]["Code"]
    if code == "ConditionalCheckFailedException":
        item = error.response.get("Item")
        repeated = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
        return Refused(decode(item) if item else None, repeated)
    if code in THROTTLED:
        return StoreBusy(f"DynamoDB: {code}")
    if code == "ResourceNotFoundException":
        return StoreUnavailable("DynamoDB: there is no such table; queuelog db migrate makes it")
    told = error.response["Error"].get("Message", "")
    return StoreUnavailable(f"DynamoDB: {code}: {' '.join(told.split())}")


def encode(item: Mapping[str, Value | None]) -> dict[str, Any]:
    """Plain values as DynamoDB spells them; None is left out."""
    return {name: _spell(value) for name, value in item.items() if value is not None}


def _spell(value: Value) -> Any:
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bytes):
        return {"B": value}
    return {"SS": sorted(value)} if isinstance(value, frozenset) else {"N": str(value)}


def decode(item: Mapping[str, Any]) -> Item:
    """The inverse of `encode`."""
    return {name: _read(*spelled.items()) for name, spelled in item.items()}


def _read(spelled: tuple[str, Any]) -> Value:
    kind, value = spelled
    if kind == "N":
        return int(value)
    plain: Value = frozenset(value) if kind == "SS" else value
    return plain


def number_in(item: Item, name: str) -> int:
    """A number of an item; 0 when it has none."""
    number = item.get(name, 0)
    assert isinstance(number, int)
    return number
