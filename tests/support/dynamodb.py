"""Engines that speak DynamoDB: moto in this process, dynalite in one of its own.

moto is for one caller at a time: it checks a condition and writes in two steps. Here one lock makes
them one, which costs nothing as long as all callers are threads of this process.
"""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client, connect
from queuelog_core.stores.dynamodb_schema import create_table
from tests.support.http import ROOT
from tests.support.offline import free_ports
from tests.support.servers import environment, eventually, running

REGION = "eu-west-1"
DYNALITE = ROOT / "node_modules" / "dynalite" / "cli.js"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
START_SECONDS = 30.0
_tables = itertools.count(1)


class Kept:
    """A client of boto3 that stores may close and that stays open."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def close(self) -> None:
        """Others use it too."""


class OneAtATime(Kept):
    """One whose calls wait for each other."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def locked(*given: Any, **named: Any) -> Any:
            with self._lock:
                return call(*given, **named)

        return locked


class Engine:
    """Something that speaks DynamoDB. `endpoint` None: moto, in this process."""

    def __init__(self, endpoint: str | None) -> None:
        self.endpoint = endpoint
        self._kept = self._new()

    def connect(self) -> Any:
        """A client of boto3, always the same: to make one takes longer than most tests."""
        return self._kept

    def _new(self) -> Any:
        client = connect(REGION, self.endpoint)
        return Kept(client) if self.endpoint else OneAtATime(client)

    def make_table(self) -> str:
        """A new and empty table."""
        name = f"queuelog-{next(_tables)}"
        create_table(Client(self.connect), name)
        return name

    def open(self, table: str, shards: int = 1, client: Any = None) -> DynamoDBStore:
        """A store whose ids count from one, as those of a new file do; over this client, if any."""
        ids = itertools.count(1)
        asked = Client(lambda: client or self.connect())
        return DynamoDBStore(asked, table, shards, ids=lambda: next(ids))

    def url(self, table: str, shards: int = 1) -> str:
        """The address by which another process opens the table."""
        return f"dynamodb://{table}?region={REGION}&endpoint={self.endpoint}&shards={shards}"


@contextmanager
def moto() -> Iterator[Engine]:
    """DynamoDB in this process, empty."""
    from moto import mock_aws

    with mock_aws():
        yield Engine(None)


@contextmanager
def dynalite(folder: Path) -> Iterator[Engine]:
    """DynamoDB as a process, in memory."""
    assert DYNALITE.exists(), "npm ci brings dynalite"
    port = free_ports(1)
    command = ["node", str(DYNALITE), "--host", "127.0.0.1", "--port", str(port)]
    instantly = ["--createTableMs", "0", "--deleteTableMs", "0"]
    with running([*command, *instantly], folder, environment()) as server:
        engine = Engine(f"http://127.0.0.1:{port}")

        def answers() -> bool:
            assert server.process.poll() is None, server.log
            from botocore.exceptions import EndpointConnectionError

            try:
                client = engine.connect()
                client.list_tables()
                client.close()
            except EndpointConnectionError:
                return False
            return True

        eventually(answers, "dynalite answers", START_SECONDS)
        yield engine
        server.stop()
