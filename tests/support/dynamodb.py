"""Engines that speak DynamoDB: moto in this process, dynalite in one of its own.

moto is for one caller at a time: it checks a condition and writes in two steps. Here one lock makes
them one, which costs nothing as long as all callers are threads of this process.
"""

import functools
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError

from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client, connect
from queuelog_core.stores.dynamodb_schema import create_table
from tests.support.http import ROOT
from tests.support.offline import free_ports
from tests.support.servers import Server, environment, eventually, running

REGION = "eu-west-1"
MINISTACK = ROOT / ".venv-cloud" / "bin" / "ministack"
DYNALITE = ROOT / "node_modules" / "dynalite" / "cli.js"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
START_SECONDS = 30.0
READS = frozenset({"get_item", "batch_get_item", "query"})
WRITES = frozenset({"put_item", "update_item", "delete_item", "batch_write_item"})
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

    def open_new(self) -> DynamoDBStore:
        """A store on a table that is made at the first call: many a test never makes one."""
        ids = itertools.count(1)
        name = f"queuelog-{next(_tables)}"

        def make_and_connect() -> Any:
            create_table(Client(self.connect), name)
            return self.connect()

        made = functools.cache(make_and_connect)
        return DynamoDBStore(Client(made), name, ids=lambda: next(ids))

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
        yield _when_it_answers(server, port)
        server.stop()


def _when_it_answers(server: Server, port: int) -> Engine:
    engine = Engine(f"http://127.0.0.1:{port}")

    def answers() -> bool:
        assert server.process.poll() is None, server.log
        try:
            engine.connect().list_tables()
        except BotoCoreError:
            return False
        return True

    eventually(answers, "the engine answers", START_SECONDS)
    return engine


@contextmanager
def ministack(folder: Path) -> Iterator[Engine]:
    """DynamoDB as a process that counts request units as AWS does."""
    assert MINISTACK.exists(), "sh scripts/setup.sh cloud makes .venv-cloud"
    port = free_ports(1)
    env = {
        "PATH": f"{MINISTACK.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "dynamodb",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
    }
    with running([str(MINISTACK)], folder, env) as server:
        yield _when_it_answers(server, port)
        server.stop()


class Metered(Kept):
    """A client that adds up the request units of its calls."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.read = self.written = 0.0
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in READS | WRITES:
            return method

        def call(**request: Any) -> Any:
            answer = method(ReturnConsumedCapacity="TOTAL", **request)
            told = answer.get("ConsumedCapacity") or []
            units = sum(
                one["CapacityUnits"] for one in (told if isinstance(told, list) else [told])
            )
            with self._lock:
                self.read += units if name in READS else 0
                self.written += units if name in WRITES else 0
            return answer

        return call
